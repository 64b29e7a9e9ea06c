//! Tests of generated text for windows that begin in the memory of a block and move out of that
//! memory.

use super::emulated::{CUTTING, Emulation, EmulationOptions, Host, check_with_options, draft, on_device};
use crate::cuda::memory::DevicePool;
use crate::grid::{
    Grid, GridProgram, GridRunner, Launch, LaunchOutcome, MemorySpace, TeamSize, Walks, WindowExtent, map_to,
};
use crate::testing::windows::{self, ROUNDS};
use redpoll_compiler::assembly::{Signature, Status};
use redpoll_compiler::lower::Draft;
use redpoll_compiler::testing::examples::function;
use redpoll_compiler::testing::normal_form;
use redpoll_kernels::backend;
use redpoll_kernels::kernel::Kernel;
use redpoll_kernels::run::{Invocation, Limits};
use redpoll_logic::Scalar;
use redpoll_storage::Tensor;

/// Returns the draft and the inputs of a product of matrices by rows. `level` is the level of the
/// workspace, and `output` the format of the result.
fn product(level: &str, output: &str) -> (Draft, Vec<Tensor>) {
    draft(normal_form(&format!(
        "(program (input A (type (shape 9 10) f64 0.0 csr)) (input B (type (shape 10 23) f64 0.0 csr))
           (output C (type (shape 9 23) f64 0.0 {output})) (local w (type (shape 23) f64 0.0 ({level} (element))))
           (for i (where (for j (init (C i j) (w j))) (for k (for j (+= (w j) (* (A i k) (B k j))))))))"
    )))
}

/// Kernels with hash, byte-map and dense workspaces compute the bits of the interpreter, whether
/// the workspaces have no share of the memory of a block, outgrow their shares, or fit in them.
#[test]
fn workspaces_agree_in_any_share() {
    let drafts = ["hash", "byte-map", "dense"].map(|level| product(level, "csr"));
    let shares: [fn(usize) -> usize; 4] = [|_| 0, |_| 72, |_| 248, |_| 1 << 13];
    for team_size in [TeamSize::Automatic, TeamSize::Exact(8)] {
        for share in shares {
            check_with_options(&drafts, EmulationOptions { team_size, share, ..EmulationOptions::default() });
        }
    }
}

/// Runs two chunks in one team. Returns the contents of the grid's last buffer, which is in shared
/// space.
fn last_buffer(runner: &dyn GridRunner) -> Vec<u64> {
    let grid = runner.grid();
    let params = vec![ROUNDS as i64; grid.function.params.len()];
    let inputs = Invocation::new(&Signature::of(&grid.function), vec![], params, Limits::default()).unwrap();
    let extent = |space: &MemorySpace| match space {
        MemorySpace::Shared => vec![WindowExtent { first: 0, len: ROUNDS, capacity: ROUNDS }],
        _ => vec![WindowExtent { first: 0, len: 0, capacity: ROUNDS }],
    };
    let windows = grid.spaces.iter().map(extent).collect();
    let chunks = [0..15, 15..ROUNDS as i64];
    let launch = Launch { inputs: &inputs, chunks: &chunks, sections: &[], windows, unfilled: &[], teams: 1, seed: 0 };
    let launched = runner.run(&launch).unwrap_or_else(|e| panic!("{e}\n{grid}"));
    assert_eq!(launched.outcome, LaunchOutcome::Status(Status::Done));
    let last = grid.spaces.len() - 1;
    runner.elements(&grid.function.buffers[last], &launched.windows[last]).unwrap().remove(0)
}

/// Windows that grow, or are swapped or sorted, give the same results as in the interpreter, for
/// several shares and several sizes of the team.
#[test]
fn windows_agree_in_any_share() {
    let of = |(text, lanes): (&&str, u32)| {
        let function = function(text);
        let windows = function.buffers.len() - 1;
        map_to(&function, [vec![MemorySpace::Team; windows], vec![MemorySpace::Shared]].concat(), lanes, &Walks::none())
    };
    let grids: Vec<Grid> =
        [1, 4, 32, 64].iter().flat_map(|lanes| windows::ALL.iter().map(move |t| (t, *lanes))).map(of).collect();
    let host = Host::of(&grids, |text| text);
    let pool = DevicePool::of(host.clone(), usize::MAX);
    for (number, grid) in grids.iter().enumerate() {
        let expected = last_buffer(&GridProgram::new(grid.clone()).unwrap());
        for share in [0, 72, 200, 1 << 13] {
            let emulated = on_device(&host, &pool, (number, grid.clone()), (1, share));
            assert_eq!(last_buffer(&emulated), expected, "{share}\n{grid}");
        }
    }
}

/// Returns the first output of a kernel.
fn first_output(kernel: &Kernel, inputs: &[Tensor]) -> Vec<Scalar> {
    let limits = Limits::default().with_workers(&CUTTING);
    let outputs = kernel.run(&inputs.iter().collect::<Vec<_>>(), &limits).unwrap().outputs;
    outputs[0].fetch().unwrap();
    outputs[0].to_dense_scalars().unwrap()
}

/// If a window loses its elements when it leaves the memory of its block, the results differ.
#[test]
fn a_move_without_a_copy_is_found() {
    let edit = |text: String| {
        assert!(text.contains("outside[k] = inside[k];"));
        text.replace("outside[k] = inside[k];", ";")
    };
    // The list of the written coordinates of a row leaves the memory of the block. In place of the
    // lost elements, the kernel reads fill values, which are valid coordinates.
    let (draft, inputs) = product("byte-map", "dense");
    let options = EmulationOptions { share: |_| 72, edit, ..EmulationOptions::default() };
    let broken = &Emulation::with_options([&draft].into_iter(), usize::MAX, options).kernels[0];
    let expected = first_output(&Kernel::compile(&draft, &backend::interpreter()).unwrap(), &inputs);
    assert_ne!(first_output(broken, &inputs), expected);
}

/// New memory of the emulated device has the byte `0x55`, so the results differ if a kernel fails
/// to write an element of an output that is not filled first.
#[test]
fn unwritten_results_are_found() {
    let edit = |text: String| {
        assert!(text.contains("y_val[i] = acc;"));
        text.replace("y_val[i] = acc;", "if (i != 3) y_val[i] = acc;")
    };
    let (draft, inputs) = draft(normal_form(
        "(program (input A (type (shape 9 10) f64 0.0 csr)) (input x (type (shape 10) f64 0.0 dense))
           (output y (type (shape 9) f64 0.0 dense)) (for i (for k (+= (y i) (* (A i k) (x k))))))",
    ));
    let options = EmulationOptions { edit, ..EmulationOptions::default() };
    let broken = &Emulation::with_options([&draft].into_iter(), usize::MAX, options).kernels[0];
    let expected = first_output(&Kernel::compile(&draft, &backend::interpreter()).unwrap(), &inputs);
    let found = first_output(broken, &inputs);
    let differs: Vec<usize> = (0..9).filter(|k| found[*k] != expected[*k]).collect();
    assert_eq!(differs, [3], "{found:?}");
}
