//! Reported decisions of plans without rewriting, mostly at realistic sizes: loop orders, copies,
//! formats and workspaces.

use super::{InputSpec, WithStored, check_plain, input};
use expect_test::{Expect, expect};
use redpoll_logic::Format;
use redpoll_optimizer::OptimizerConfig;

fn decide(text: &str, inputs: &[InputSpec], config: &OptimizerConfig, expect: &Expect) {
    let (_, report) = check_plain(text, inputs, config);
    let decisions: String = report.decisions.iter().map(ToString::to_string).collect();
    expect.assert_eq(&decisions);
}

#[test]
fn large_spgemm() {
    let text = "(plan (query C (aggregate + 0 (mapjoin * (table A i k) (table B k j)) k)) (produces C))";
    decide(
        text,
        &[
            input("A", &[100000, 100000], Format::csr()).stored(1e6),
            input("B", &[100000, 100000], Format::csr()).stored(1e6),
        ],
        &OptimizerConfig::default(),
        &expect![[r#"
            C
              loops i k j at cost 275442949
                rejected j k i at cost 367241208
                rejected k i j at cost 5282909628
                rejected k j i at cost 5287881014
              C stored as (dense sparse-list), about 9995002 values, through a workspace (byte-map) inside 1 loop
        "#]],
    );
}

#[test]
fn large_spgemm_of_columns() {
    let text = "(plan (query C (aggregate + 0 (mapjoin * (table A i k) (table B k j)) k)) (produces C))";
    decide(
        text,
        &[
            input("A", &[100000, 100000], Format::csc()).stored(1e6),
            input("B", &[100000, 100000], Format::csc()).stored(1e6),
        ],
        &OptimizerConfig::default(),
        &expect![[r#"
            C
              loops j k i at cost 275442949
                rejected i k j at cost 367241208
                rejected k j i at cost 5282909628
                rejected k i j at cost 5287881014
              C stored as (dense@1 sparse-list@0), about 9995002 values, through a workspace (byte-map) inside 1 loop
        "#]],
    );
}

#[test]
fn large_spgemm_of_mixed_orders() {
    let text = "(plan (query C (reformat csr (aggregate + 0 (mapjoin * (table A i k) (table B k j)) k))) (produces C))";
    decide(
        text,
        &[
            input("A", &[100000, 100000], Format::csr()).stored(1e6),
            input("B", &[100000, 100000], Format::csc()).stored(1e6),
        ],
        &OptimizerConfig::default(),
        &expect![[r#"
            B.1 (a copy in another order)
              loops c1 c0 at cost 307570475
              B.1 stored as (dense sparse-list), about 1000000 values, through a workspace (dense hash) inside 0 loops
            C
              loops i k j at cost 321444795
                rejected j k i at cost 5285585184
                rejected k i j at cost 5325775586
                rejected k j i at cost 5325775586
                rejected i j k at cost 390638955965
              C stored as (dense sparse-list), about 9995002 values, through a workspace (byte-map) inside 1 loop
        "#]],
    );
}

#[test]
fn large_hypersparse_product_hashes() {
    let text = "(plan (query C (aggregate + 0 (mapjoin * (table A i k) (table B k j)) k)) (produces C))";
    decide(
        text,
        &[
            input("A", &[100000000, 100000000], Format::csf(2)).stored(1e6),
            input("B", &[100000000, 100000000], Format::csf(2)).stored(1e6),
        ],
        &OptimizerConfig::default(),
        &expect![[r#"
            A.1 (a copy in another order)
              loops c0 c1 at cost 320823403
              A.1 stored as (sparse-list@1 sparse-list@0), about 1000000 values, through a workspace (hash hash) inside 0 loops
            C
              loops k i j at cost 52238048
                rejected k j i at cost 52287312
                rejected i k j at cost 179390391
              C stored as (sparse-list sparse-list), about 10000 values, through a workspace (hash hash) inside 0 loops
        "#]],
    );
}

/// Merges of whole rows are priced by their steps, not by their common coordinates.
#[test]
fn spgemm_of_long_rows_is_not_planned_as_inner_products() {
    let text = "(plan (query C (aggregate + 0 (mapjoin * (table A i k) (table B k j)) k)) (produces C))";
    decide(
        text,
        &[
            input("A", &[10000, 10000], Format::csr()).stored(7e5),
            input("B", &[10000, 10000], Format::csr()).stored(7e5),
        ],
        &OptimizerConfig::default(),
        &expect![[r#"
            C
              loops i k j at cost 145821314
                rejected k i j at cost 261606143
                rejected k j i at cost 482346417
                rejected j k i at cost 516138137
              C stored as (dense dense), about 100000000 values
        "#]],
    );
}

#[test]
fn large_sddmm() {
    let text = "(plan (query C (mapjoin * (table S i j) (aggregate + 0 (mapjoin * (table A i k) (table B k j)) k))) (produces C))";
    decide(
        text,
        &[
            input("S", &[100000, 100000], Format::csr()).stored(1e6),
            input("A", &[100000, 64], Format::dense(2)),
            input("B", &[64, 100000], Format::dense(2)),
        ],
        &OptimizerConfig::default(),
        &expect![[r#"
            S.1 (a copy in another order)
              loops c0 c1 at cost 307570475
              S.1 stored as (dense@1 sparse-list@0), about 1000000 values, through a workspace (dense hash) inside 0 loops
            C
              loops j i at cost 175981960
                rejected i j at cost 741683227
              C stored as (dense@1 sparse-list@0), about 1000000 values
        "#]],
    );
}

#[test]
fn large_mttkrp() {
    let text =
        "(plan (query M (aggregate + 0 (mapjoin * (table T i k l) (table B k j) (table C l j)) k l)) (produces M))";
    decide(
        text,
        &[
            input("T", &[10000, 10000, 10000], Format::csf(3)).stored(1e7),
            input("B", &[10000, 32], Format::dense(2)),
            input("C", &[10000, 32], Format::dense(2)),
        ],
        &OptimizerConfig::default(),
        &expect![[r#"
            M
              loops i k l j at cost 310235852
                rejected i k j l at cost 1609587380
                rejected i j k l at cost 2652429224
                rejected j i k l at cost 6671989198
              M stored as (dense dense), about 320000 values
        "#]],
    );
}

#[test]
fn large_triangles() {
    let text =
        "(plan (query t (aggregate + 0 (mapjoin * (table A i j) (table A j k) (table A i k)) i j k)) (produces t))";
    decide(
        text,
        &[input("A", &[100000, 100000], Format::csr()).stored(1e6)],
        &OptimizerConfig::default(),
        &expect![[r#"
            t
              loops i j k at cost 47255108
              t stored as (), about 1 value
        "#]],
    );
}

#[test]
fn large_rows_to_blocks() {
    let text = "(plan (query C (reformat (bcsr 4 4) (table A i j))) (produces C))";
    decide(
        text,
        &[input("A", &[100000, 100000], Format::csr()).stored(1e6)],
        &OptimizerConfig::default(),
        &expect![[r#"
            C
              loops i.o i.i j at cost 24158507
              C stored as (dense@0/4 sparse-list@1/4 dense@0%4 dense@1%4), about 3999400 values, through a workspace (byte-map dense dense) inside 1 loop
        "#]],
    );
}

#[test]
fn large_blocks_plus_rows() {
    let text = "(plan (query C (mapjoin + (table A i j) (table B i j))) (produces C))";
    decide(
        text,
        &[
            input("A", &[100000, 100000], Format::bcsr(4, 4)).stored(250e3),
            input("B", &[100000, 100000], Format::csr()).stored(1e6),
        ],
        &OptimizerConfig::default(),
        &expect![[r#"
            A.1 (a copy in another order)
              loops c0.o c0.i c1.o c1.i at cost 4594718
                rejected c0.o c1.o c0.i c1.i at cost 1868950138
              A.1 stored as (dense sparse-list), about 4000000 values
            C
              loops i j at cost 572211811
              C stored as (dense sparse-list), about 4999600 values
        "#]],
    );
}

#[test]
fn large_spmv_of_the_transpose() {
    let text = "(plan (query y (aggregate + 0 (mapjoin * (table A i j) (table x i)) i)) (produces y))";
    decide(
        text,
        &[input("A", &[100000, 100000], Format::csr()).stored(1e6), input("x", &[100000], Format::dense(1))],
        &OptimizerConfig::default(),
        &expect![[r#"
            y
              loops i j at cost 2921780
              y stored as (dense), about 100000 values
        "#]],
    );
}

#[test]
fn a_mask_drives_a_product() {
    let text =
        "(plan (query y (mapjoin * (table m i) (aggregate + 0 (mapjoin * (table A i j) (table x j)) j))) (produces y))";
    decide(
        text,
        &[
            input("A", &[100000, 100000], Format::csr()).stored(1e6),
            input("x", &[100000], Format::dense(1)),
            input("m", &[100000], Format::csf(1)).stored(50.0),
        ],
        &OptimizerConfig::default(),
        &expect![[r#"
            y
              loops i at cost 2188988
              y stored as (sparse-list), about 50 values
        "#]],
    );
}

#[test]
fn a_sparse_vector_drives_a_product_by_columns() {
    let text = "(plan (query y (aggregate + 0 (mapjoin * (table A i j) (table x j)) j)) (produces y))";
    decide(
        text,
        &[input("A", &[100000, 100000], Format::csc()).stored(1e6), input("x", &[100000], Format::csf(1)).stored(50.0)],
        &OptimizerConfig::default(),
        &expect![[r#"
            y
              loops j i at cost 44524
              y stored as (sparse-list), about 499 values, through a workspace (byte-map) inside 0 loops
        "#]],
    );
}

#[test]
fn residual_of_columns() {
    let text =
        "(plan (query r (mapjoin - (table b i) (aggregate + 0 (mapjoin * (table A i j) (table x j)) j))) (produces r))";
    decide(
        text,
        &[
            input("A", &[100000, 100000], Format::csc()).stored(1e6),
            input("x", &[100000], Format::dense(1)),
            input("b", &[100000], Format::dense(1)),
        ],
        &OptimizerConfig::default(),
        &expect![[r#"
            r.1 (a stored fold)
              loops j i at cost 2921780
              r.1 stored as (dense), about 100000 values
            r
              loops i at cost 46242
              r stored as (dense), about 100000 values
        "#]],
    );
}

/// Threads share the loops of a stored fold. A fold in place, without a loop around it, would run
/// on one thread.
#[test]
fn long_folds_of_single_values_are_stored() {
    let text = |value: &str| format!("(plan (query s {value}) (produces s))");
    let input = |n| input("A", &[n], Format::dense(1));
    let (mean, largest) =
        (text("(mapjoin * 0.5 (aggregate + 0 (table A i) i))"), text("(aggregate max -inf (table A i) i)"));
    let config = OptimizerConfig::default();
    let in_place = expect![[r#"
        s
          loops none at cost 2452
          s stored as (), about 1 value
    "#]];
    let stored = expect![[r#"
        s.1 (a stored fold)
          loops i at cost 212242
          s.1 stored as (), about 1 value
        s
          loops none at cost 2238
          s stored as (), about 1 value
    "#]];
    for plan in [mean, largest] {
        decide(&plan, &[input(1000)], &config, &in_place);
        decide(&plan, &[input(1_000_000)], &config, &stored);
    }
}

#[test]
fn requested_orders_are_kept() {
    let text = "(plan (query C (aggregate + 0 (mapjoin * (table A i k) (table B k j)) k)) (produces C))";
    decide(
        text,
        &[input("A", &[7, 8], Format::csr()).stored(20.0), input("B", &[8, 9], Format::csr()).stored(20.0)],
        &OptimizerConfig {
            loop_orders: [("C".into(), vec!["k".into(), "i".into(), "j".into()])].into(),
            ..OptimizerConfig::default()
        },
        &expect![[r#"
            A.1 (a copy in another order)
              loops c0 c1 at cost 3354
              A.1 stored as (dense@1 sparse-list@0), about 20 values, through a workspace (dense hash) inside 0 loops
            C
              loops k i j at cost 5570
              C stored as (dense dense), about 63 values
        "#]],
    );
}

#[test]
fn requested_formats_are_kept() {
    let text = "(plan (query C (aggregate + 0 (mapjoin * (table A i k) (table B k j)) k)) (produces C))";
    decide(
        text,
        &[input("A", &[7, 8], Format::csr()).stored(20.0), input("B", &[8, 9], Format::csr()).stored(20.0)],
        &OptimizerConfig { formats: [("C".into(), Format::coo(2))].into(), ..OptimizerConfig::default() },
        &expect![[r#"
            C
              loops i k j at cost 2819
              C stored as (sparse-list* singleton), about 36 values, through a workspace (byte-map) inside 1 loop
        "#]],
    );
}

#[test]
fn the_report_shows_every_phase() {
    let text = "(plan (query s (aggregate + 0 (table A i j) j)) (query m (aggregate max -inf (table A i j) j))
        (query r (mapjoin - (table b i) (table s i))) (produces r m))";
    let inputs = [input("A", &[7, 9], Format::csr()).stored(15.0), input("b", &[7], Format::dense(1))];
    let (_, report) = check_plain(text, &inputs, &OptimizerConfig::default());
    expect![[r#"
        == logic ==
        (plan
          (query s (aggregate + 0.0 (table A i j) j))
          (query m (aggregate max -inf (table A i j) j))
          (query r (mapjoin - (table b i) (table s i)))
          (produces r m))
        == nests ==
        (write m (i) (aggregate max -inf (at A i j) j))
        (write r (i) (- (at b i) (aggregate + 0.0 (at A i j) j)))
        == physical plan ==
        (physical
          (input A f64 0.0 (7 9) (dense sparse-list))
          (input b f64 0.0 (7) (dense))
          (query (for (i 7))
            (where 1 (for (j 9))
              (t.1 max -inf (at A i j)))
            (write m f64 0.0 (7) (dense) (i) t.1))
          (query (for (i 7))
            (where 1 (for (j 9))
              (t.2 + 0.0 (at A i j)))
            (write r f64 0.0 (7) (dense) (i) (- (at b i) t.2)))
          (produces r m))
        == decisions ==
        m
          loops i at cost 2311
          m stored as (dense), about 7 values
        r
          loops i at cost 2282
          r stored as (dense), about 7 values
    "#]]
    .assert_eq(&report.to_string());
}
