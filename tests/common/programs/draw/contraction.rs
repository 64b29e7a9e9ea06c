//! Perfect nests with one fold, which are drawn for schedules.

use super::Usage;
use super::tensors::ProgramDraft;
use redpoll_compiler::notation::Role;
use redpoll_logic::{DType, Prim, Scalar};

impl ProgramDraft<'_> {
    /// Draws a nest that folds one input, or the product of two inputs, over the loops that the
    /// output does not use.
    pub(super) fn contraction(&mut self) -> String {
        let loops: Vec<(String, u64)> =
            (0..2 + self.rng.index(2)).map(|k| (self.new_name('i'), self.sizes[k])).collect();
        let prim = *self.rng.pick(&[Prim::F64, Prim::F64, Prim::I64, Prim::Bool]);
        let factors: Vec<String> = (0..1 + self.rng.index(2))
            .map(|k| {
                let usage = Usage::Input;
                self.operand(format!("A{k}"), Role::Input, usage, prim, &loops)
            })
            .collect();
        let usage = if self.rng.chance(50) { Usage::Mutable } else { Usage::Random };
        let output = self.operand("Y0".to_owned(), Role::Output, usage, prim, &loops);
        let op = match prim {
            Prim::Bool => *self.rng.pick(&["or=", "and="]),
            _ => *self.rng.pick(&["+=", "+=", "+=", "min=", "max="]),
        };
        let value = match (&factors[..], prim) {
            ([one], _) => one.clone(),
            (_, Prim::Bool) => format!("(and {})", factors.join(" ")),
            _ => format!("(* {})", factors.join(" ")),
        };
        let open: String = loops.iter().map(|(index, n)| format!("(for {index} (range 0 {n}) ")).collect();
        format!("{open}({op} {output} {value}){}", ")".repeat(loops.len()))
    }

    /// Adds a tensor that some of the loops index; returns the text of its access.
    fn operand(&mut self, name: String, role: Role, usage: Usage, prim: Prim, loops: &[(String, u64)]) -> String {
        let along: Vec<&(String, u64)> = loops.iter().filter(|_| self.rng.chance(65)).collect();
        let tensor = self.add(name.clone(), role, along.iter().map(|(_, n)| *n).collect(), usage);
        let tensor = &mut self.tensors[tensor];
        (tensor.dtype, tensor.fill) = (DType::Prim(prim), Scalar::zero(prim));
        let subscripts: String = along.iter().map(|(index, _)| format!(" {index}")).collect();
        if along.is_empty() { name } else { format!("({name}{subscripts})") }
    }
}
