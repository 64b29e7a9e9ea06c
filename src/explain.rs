//! What became of a plan: the text of every phase.

use crate::engine::Work;
use crate::error::Error;
use crate::prepared::Prepared;
use crate::timings::Phase;
use redpoll_logic::physical::FormatWords;
use redpoll_physical::emit::cranelift::clif;
use redpoll_physical::{assembly, notation};
use std::fmt;

/// How far down an explanation goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Detail {
    /// To the Assembly of each kernel.
    #[default]
    Assembly,
    /// To the code that Cranelift takes, too.
    Clif,
    /// To the C text of all kernels, too.
    C,
}

/// One form of a plan, or of one of its queries.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Section {
    /// Which form, and of which query.
    pub title: String,
    /// The text.
    pub text: String,
}

impl fmt::Display for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "== {} ==\n{}", self.title, self.text.trim_end())
    }
}

impl Prepared {
    /// The text of every phase, from the Logic plan to the code of each kernel.
    ///
    /// # Errors
    /// When the code of kernels is asked for, and cannot be made.
    pub fn explain(&self, detail: Detail) -> Result<Vec<Section>, Error> {
        let section = |title: String, text: String| Section { title, text };
        let mut sections = vec![section("logic".into(), self.made.plan.to_string())];
        sections.extend(self.made.report.phases.iter().map(|p| section(p.name.into(), p.plan.clone())));
        let decisions: String = self.made.report.decisions.iter().map(ToString::to_string).collect();
        sections.push(section("decisions".into(), decisions));
        let notes: String = self.notes().iter().map(|note| format!("{note}\n")).collect();
        if !notes.is_empty() {
            sections.push(section("notes".into(), notes));
        }
        for stage in self.made.stages.iter() {
            let of = |form: &str| format!("{form} of {}", stage.name);
            let loops = match &stage.work {
                Work::Loops(loops) => loops,
                Work::Convert(ty) => {
                    let (source, format) = (&stage.reads[0], FormatWords(&ty.format));
                    sections.push(section(of("conversion"), format!("storage of {source} converted to {format}")));
                    continue;
                }
            };
            let function = loops.draft(self.made.config.optimizer.float_mode).function();
            sections.push(section(of("notation"), notation::print(&loops.written)));
            if loops.written != *loops.program {
                sections.push(section(of("normal notation"), notation::print(&loops.program)));
            }
            sections.push(section(of("assembly"), assembly::text::print(function)));
            if detail == Detail::Clif {
                let code = clif(function).map_err(|source| loops.refused(Phase::Compile, source))?;
                sections.push(section(of("clif"), code));
            }
        }
        if detail == Detail::C {
            sections.push(section("c".into(), self.made.optimizing.text(&self.made.stages)?));
        }
        Ok(sections)
    }
}
