//! Criterion benchmarks of single kernels and of their hand-written loops, on small data. Criterion
//! compares the times with those of the previous run.

use criterion::{Criterion, criterion_group, criterion_main};
use redpoll_bench::cases::{CASES, CaseSize};
use std::time::Duration;

fn kernels(criterion: &mut Criterion) {
    for (_, make) in CASES {
        let Some(case) = make(CaseSize::Small).expect("every case can be created") else { continue };
        let mut group = criterion.benchmark_group(format!("{} over {}", case.name, case.data));
        group.sample_size(20).measurement_time(Duration::from_secs(1)).warm_up_time(Duration::from_millis(200));
        group.bench_function("kernel", |b| {
            b.iter(|| case.kernel.run().expect("the kernel ran when the case was created"));
        });
        group.bench_function("by hand", |b| b.iter(&case.by_hand));
        group.finish();
    }
}

criterion_group!(benches, kernels);
criterion_main!(benches);
