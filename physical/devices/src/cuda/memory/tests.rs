//! Tests of limits, inputs and results, with the host's memory in place of device memory.

use super::*;
use crate::cuda::tests::Host;

fn array(bytes: usize) -> Buffer {
    Buffer::from_vec(vec![7u8; bytes])
}

fn requester<'a>() -> Requester<'a> {
    Requester { kernel: "f", limit: usize::MAX, cancelled: &|| false }
}

/// Arrays are uploaded once. The next upload frees the copies of arrays that the host has dropped.
#[test]
fn arrays_are_uploaded_once() {
    let host = Host::with_memory(usize::MAX);
    let pool = DevicePool::of(host.clone(), 150);
    let uploaded = |array: &Buffer| {
        pool.input(array, requester()).unwrap();
        host.transfers().0
    };
    let [a, b, c] = [40, 50, 30].map(array);
    assert_eq!([&a, &b, &a, &b.clone()].map(uploaded), [40, 50, 0, 0]);
    assert!(pool.has_input(&a) && !pool.has_input(&c));
    assert_eq!([&b.slice(8), &c].map(uploaded), [42, 30], "a slice is another array");
    assert_eq!([&b, &c, &a].map(uploaded), [0, 0, 40], "the least recently used array was evicted");
    drop(b);
    uploaded(&array(1));
    assert_eq!(pool.locked().used, 40 + 30 + 1, "the dropped array was freed");
    let error = pool.input(&array(151), requester()).err().unwrap();
    assert!(matches!(error, Error::DeviceMemory { requested: 151, limit: 150, ordinal: 7, .. }), "{error}");
    assert!(error.to_string().contains("kernel `f`"), "{error}");
}

/// If the device is full, results are fetched to the host, and later reads find them there.
#[test]
fn results_are_evicted_to_the_host() {
    // The driver reports full memory before the limit is reached.
    let host = Host::with_memory(100);
    let pool = DevicePool::of(host.clone(), usize::MAX);
    let budget = Arc::new(MemoryBudget::new(1000));
    let allocation = pool.allocate_filled((8, 8), 0x0102_0304_0506_0708, requester()).unwrap();
    let result = pool.register_result(&allocation, (8, 56), ("f", &budget)).unwrap();
    drop(allocation);
    assert_eq!((pool.locked().used, budget.used()), (64, 56));
    assert_eq!(pool.resident(&result).unwrap().1 % 8, 0);
    let error = {
        let _used = pool.resident(&result);
        pool.allocate(60, requester()).err().unwrap()
    };
    assert!(matches!(error, Error::DeviceMemory { used: 64, requested: 60, .. }), "{error}");
    pool.allocate(60, requester()).unwrap();
    assert!(pool.resident(&result).is_none() && result.is_on_host());
    assert_eq!(result.fetch().unwrap().typed_data::<u64>(), [0x0102_0304_0506_0708; 7]);
    drop(result);
    assert_eq!((pool.locked().used, budget.used()), (0, 0));
}

/// Fills set all elements, for each size and several lengths, and upload at most `SEED_BYTES`
/// bytes.
#[test]
fn fills_upload_few_bytes() {
    let host = Host::with_memory(usize::MAX);
    let pool = DevicePool::of(host.clone(), usize::MAX);
    let fill = 0x0102_0304_0506_0708_u64;
    for size in [1, 2, 4, 8] {
        for elements in
            [0, 1, 3, SEED_BYTES / size - 1, SEED_BYTES / size, 5 * SEED_BYTES / size + 1, 8 * SEED_BYTES / size]
        {
            let allocation = pool.allocate_filled((elements, size), fill, requester()).unwrap();
            assert!(host.transfers().0 <= SEED_BYTES);
            let mut found = vec![0; elements * size];
            pool.download(allocation.address(), &mut found, requester()).unwrap();
            assert!(found.chunks(size).all(|element| *element == fill.to_le_bytes()[..size]), "{elements} of {size}");
        }
    }
}

/// Long transfers can be cancelled.
#[test]
fn transfers_are_cancelled_between_pieces() {
    let host = Host::with_memory(usize::MAX);
    let pool = DevicePool::of(host.clone(), usize::MAX);
    let large = array(TRANSFER_BYTES + 1);
    let cancelled = || host.transfers().0 > 0;
    let error = pool.input(&large, Requester { cancelled: &cancelled, ..requester() }).err().unwrap();
    assert!(matches!(error, Error::Kernels(redpoll_kernels::Error::KernelStopped(Status::Cancelled))), "{error}");
    assert!(!pool.has_input(&large) && pool.locked().used == 0, "the allocation was freed");
}

/// New memory holds the poison only if poisoning is turned on, and fill values replace the poison.
/// The poison is a large number both as an `f64` and as an `i64`, unlike most results.
#[test]
fn poisoned_memory_differs_from_results() {
    let host = Host::with_memory(usize::MAX);
    let pool = DevicePool::of(host, usize::MAX);
    let bytes = |pool: &Arc<DevicePool>| {
        let allocation = pool.allocate(TRANSFER_BYTES + 3, requester()).unwrap();
        let mut found = vec![0; allocation.bytes()];
        pool.download(allocation.address(), &mut found, requester()).unwrap();
        found
    };
    pool.set_poison(true);
    assert!(bytes(&pool).iter().all(|byte| *byte == POISON));
    let filled = pool.allocate_filled((3, 8), 9, requester()).unwrap();
    let mut found = [1; 24];
    pool.download(filled.address(), &mut found, requester()).unwrap();
    assert_eq!(found.map(|byte| byte % 9), [0; 24], "fill values replace the poison");
    pool.set_poison(false);
    assert!(bytes(&pool).iter().any(|byte| *byte != POISON));
    assert!(f64::from_bits(u64::from_le_bytes([POISON; 8])) > 1e300 && i64::from_le_bytes([POISON; 8]) > 1 << 40);
}
