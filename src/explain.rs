//! Explanations of plans: the text of every phase.

use crate::engine::{Stage, StageLoops, StageWork};
use crate::error::Error;
use crate::executable::Executable;
use crate::prepared_plan::PreparedPlan;
use crate::timings::Phase;
use redpoll_logic::physical::FormatDisplay;
use redpoll_physical::emit::cranelift::clif;
use redpoll_physical::emit::cuda;
use redpoll_physical::grid::{Grid, GridPlan, TeamSize};
use redpoll_physical::{assembly, notation};
use std::fmt;

/// Level of detail of an explanation. All levels include the loops of each kernel in Notation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Detail {
    /// The loops of each kernel, in Notation.
    Notation,
    /// Also the Assembly of each kernel.
    #[default]
    Assembly,
    /// Also the Cranelift IR of each kernel.
    Clif,
    /// The Assembly, and the C text of all kernels.
    C,
    /// The Assembly, the grids of each kernel, and the CUDA text of all kernels.
    Cuda,
}

/// One form of a plan, or of one of its queries.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Section {
    /// The form and its query.
    pub title: String,
    /// The text.
    pub text: String,
}

impl fmt::Display for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "== {} ==\n{}", self.title, self.text.trim_end())
    }
}

pub(crate) fn section(title: impl Into<String>, text: String) -> Section {
    Section { title: title.into(), text }
}

/// Returns the forms of a kernel below Notation.
pub(crate) fn kernel_sections(
    loops: &StageLoops,
    name: &str,
    executable: &Executable,
    detail: Detail,
) -> Result<Vec<Section>, Error> {
    if detail == Detail::Notation {
        return Ok(Vec::new());
    }
    let function = loops.draft(executable.mode()).function();
    let mut sections = vec![section(format!("assembly of {name}"), assembly::text::print(function))];
    if detail == Detail::Clif {
        let code = clif(function).map_err(|source| loops.phase_error(Phase::Compile, source))?;
        sections.push(section(format!("clif of {name}"), code));
    }
    if detail == Detail::Cuda {
        let GridPlan { count, run, .. } = GridPlan::of(&loops.draft(executable.mode()), TeamSize::Automatic);
        let counting = count.map(|grid| section(format!("counting grid of {name}"), grid.to_string()));
        sections.extend(counting);
        sections.push(section(format!("grid of {name}"), run.to_string()));
    }
    Ok(sections)
}

/// Returns the C or CUDA text of all kernels, if the level of detail requests it.
pub(crate) fn source_section(executable: &Executable, detail: Detail) -> Result<Option<Section>, Error> {
    match detail {
        Detail::C => Ok(Some(section("c", executable.optimizing_tier.text(&executable.stages)?))),
        Detail::Cuda => {
            let plans = executable
                .stages
                .iter()
                .filter_map(Stage::loops)
                .map(|l| GridPlan::of(&l.draft(executable.mode()), TeamSize::Automatic));
            let grids: Vec<Grid> = plans.flat_map(|plan| plan.count.into_iter().chain([plan.run])).collect();
            // Print the reason if a device declines the grids.
            let text = cuda::emit(&grids.iter().collect::<Vec<_>>()).unwrap_or_else(|e| format!("// {e}\n"));
            Ok(Some(section("cuda", text)))
        }
        _ => Ok(None),
    }
}

impl PreparedPlan {
    /// Returns the text of every phase, from the Logic plan to the code of each kernel.
    ///
    /// # Errors
    /// The errors of [`PreparedPlan::flow`]; also if the requested code of the kernels cannot be
    /// generated.
    pub fn explain(&self, detail: Detail) -> Result<Vec<Section>, Error> {
        let mut sections = vec![section("logic", self.current().plan.to_string())];
        sections.extend(self.current().adaptive.report.phases.iter().map(|p| section(p.name, p.plan.clone())));
        sections.push(section("queries", self.flow()?.to_string()));
        sections.push(section("engine", self.placement().to_string()));
        let notes: String = self.notes().iter().map(|note| format!("{note}\n")).collect();
        if !notes.is_empty() {
            sections.push(section("notes", notes));
        }
        for stage in self.current().executable.stages.iter() {
            let title = |form: &str| format!("{form} of {}", stage.name);
            let loops = match &stage.work {
                StageWork::Loops(loops) => loops,
                StageWork::Conversion(ty, _) => {
                    let (source, format) = (&stage.reads[0], FormatDisplay(&ty.format));
                    sections.push(section(title("conversion"), format!("storage of {source} converted to {format}")));
                    continue;
                }
            };
            sections.push(section(title("notation"), notation::print(&loops.source_program)));
            if loops.source_program != *loops.program {
                sections.push(section(title("normal notation"), notation::print(&loops.program)));
            }
            sections.extend(kernel_sections(loops, &stage.name, &self.current().executable, detail)?);
        }
        sections.extend(source_section(&self.current().executable, detail)?);
        Ok(sections)
    }
}
