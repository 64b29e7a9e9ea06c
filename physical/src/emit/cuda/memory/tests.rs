//! Limits, inputs and results, with the host's memory in place of a device's.

use super::*;
use crate::emit::cuda::tests::Host;

fn array(bytes: usize) -> Buffer {
    Buffer::from_vec(vec![7u8; bytes])
}

fn asker<'a>() -> Asker<'a> {
    Asker { kernel: "f", limit: usize::MAX, cancelled: &|| false }
}

/// Arrays are uploaded once, and their copies are freed when the host drops them.
#[test]
fn arrays_are_put_once_while_they_live() {
    let host = Host::with_memory(usize::MAX);
    let memory = DeviceMemory::of(host.clone(), 150);
    let asked = |array: &Buffer| {
        memory.input(array, asker()).unwrap();
        host.moved().0
    };
    let [a, b, c] = [40, 50, 30].map(array);
    assert_eq!([&a, &b, &a, &b.clone()].map(asked), [40, 50, 0, 0]);
    assert!(memory.has(&a) && !memory.has(&c));
    assert_eq!([&b.slice(8), &c].map(asked), [42, 30], "a part is another array");
    assert_eq!([&b, &c, &a].map(asked), [0, 0, 40], "what was not asked for longest left");
    drop(b);
    asked(&array(1));
    assert_eq!(memory.locked().used, 40 + 30 + 1, "nobody has it any more");
    let error = memory.input(&array(151), asker()).err().unwrap();
    assert!(matches!(error, Error::DeviceMemory { asked: 151, limit: 150, ordinal: 7, .. }), "{error}");
    assert!(error.to_string().contains("kernel `f`"), "{error}");
}

/// If the device is full, results are fetched to the host, where they are read from then on.
#[test]
fn results_come_home_when_something_does_not_fit() {
    // The driver reports full memory before the limit is reached.
    let host = Host::with_memory(100);
    let memory = DeviceMemory::of(host.clone(), usize::MAX);
    let budget = Arc::new(MemoryBudget::new(1000));
    let held = memory.filled((8, 8), 0x0102_0304_0506_0708, asker()).unwrap();
    let away = memory.leave(&held, (8, 56), ("f", &budget)).unwrap();
    drop(held);
    assert_eq!((memory.locked().used, budget.used()), (64, 56));
    assert_eq!(memory.resident(&away).unwrap().1 % 8, 0);
    let error = {
        let _used = memory.resident(&away);
        memory.allocate(60, asker()).err().unwrap()
    };
    assert!(matches!(error, Error::DeviceMemory { used: 64, asked: 60, .. }), "{error}");
    memory.allocate(60, asker()).unwrap();
    assert!(memory.resident(&away).is_none() && away.is_here());
    assert_eq!(away.fetch().unwrap().typed_data::<u64>(), [0x0102_0304_0506_0708; 7]);
    drop(away);
    assert_eq!((memory.locked().used, budget.used()), (0, 0));
}

/// Fills work for all sizes and lengths, and upload next to nothing.
#[test]
fn fills_are_made_on_the_device() {
    let host = Host::with_memory(usize::MAX);
    let memory = DeviceMemory::of(host.clone(), usize::MAX);
    let fill = 0x0102_0304_0506_0708_u64;
    for size in [1, 2, 4, 8] {
        for elements in [0, 1, 3, FIRST / size - 1, FIRST / size, 5 * FIRST / size + 1, 8 * FIRST / size] {
            let held = memory.filled((elements, size), fill, asker()).unwrap();
            assert!(host.moved().0 <= FIRST);
            let mut found = vec![0; elements * size];
            memory.take(held.address(), &mut found, asker()).unwrap();
            assert!(found.chunks(size).all(|element| *element == fill.to_le_bytes()[..size]), "{elements} of {size}");
        }
    }
}

/// Long transfers can be cancelled.
#[test]
fn transfers_are_cancelled_between_pieces() {
    let host = Host::with_memory(usize::MAX);
    let memory = DeviceMemory::of(host.clone(), usize::MAX);
    let large = array(PIECE + 1);
    let cancelled = || host.moved().0 > 0;
    let error = memory.input(&large, Asker { cancelled: &cancelled, ..asker() }).err().unwrap();
    assert!(matches!(error, Error::KernelStopped(Status::Cancelled)), "{error}");
    assert!(!memory.has(&large) && memory.locked().used == 0, "nothing is left of it");
}

/// Poisoned memory differs from the results of kernels.
#[test]
fn poisoned_memory_holds_what_no_kernel_leaves() {
    let host = Host::with_memory(usize::MAX);
    let memory = DeviceMemory::of(host, usize::MAX);
    let bytes = |memory: &Arc<DeviceMemory>| {
        let held = memory.allocate(PIECE + 3, asker()).unwrap();
        let mut found = vec![0; held.bytes()];
        memory.take(held.address(), &mut found, asker()).unwrap();
        found
    };
    memory.poison(true);
    assert!(bytes(&memory).iter().all(|byte| *byte == POISON));
    let filled = memory.filled((3, 8), 9, asker()).unwrap();
    let mut found = [1; 24];
    memory.take(filled.address(), &mut found, asker()).unwrap();
    assert_eq!(found.map(|byte| byte % 9), [0; 24], "fill values are put over it");
    memory.poison(false);
    assert!(bytes(&memory).iter().any(|byte| *byte != POISON));
    assert!(f64::from_bits(u64::from_le_bytes([POISON; 8])) > 1e300 && i64::from_le_bytes([POISON; 8]) > 1 << 40);
}
