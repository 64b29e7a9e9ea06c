//! Explanations of plans and programs: the text of every phase, and the kernels as readable C.

use crate::engine::{Stage, StageLoops, StageWork, compile_error};
use crate::error::Error;
use crate::executable::Executable;
use crate::notes::scanned_inputs;
use crate::prepare::{CompiledKind, CompiledPlan, CompiledProgram, Prepared};
use crate::target::Target;
use crate::timings::Phase;
use redpoll_compiler::assembly;
use redpoll_compiler::lower::Draft;
use redpoll_compiler::notation::{self, bounds_checks};
use redpoll_kernels::backend::Backend;
use redpoll_kernels::c::reading_text;
use redpoll_logic::physical::FormatDisplay;
use std::ops::Deref;
use std::sync::Arc;
use std::{fmt, slice, vec};

/// Level of detail of an explanation. All levels include the loops of each kernel in Notation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Detail {
    /// The loops of each kernel, in Notation.
    Notation,
    /// Also the Assembly of each kernel.
    #[default]
    Assembly,
    /// The Assembly, and the text that the target generates from it: Cranelift IR, C, grids, or
    /// grids and CUDA. The interpreters of Logic, Notation and Assembly generate no text.
    Code(Target),
}

/// A part of an explanation: a form of a plan, a program or a query, or other information, such as
/// the notes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Section {
    /// The name of the part, with the query if the part describes one query.
    pub title: String,
    /// The text.
    pub text: String,
}

impl fmt::Display for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "== {} ==\n{}", self.title, self.text.trim_end())
    }
}

/// The parts of an explanation, in order. The `Display` text has each part below its title.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Explanation(Vec<Section>);

impl Explanation {
    /// Inserts sections before the section with index `at`.
    pub(crate) fn insert(&mut self, at: usize, sections: impl IntoIterator<Item = Section>) {
        self.0.splice(at..at, sections);
    }
}

impl Deref for Explanation {
    type Target = [Section];

    fn deref(&self) -> &[Section] {
        &self.0
    }
}

impl FromIterator<Section> for Explanation {
    fn from_iter<I: IntoIterator<Item = Section>>(sections: I) -> Explanation {
        Explanation(sections.into_iter().collect())
    }
}

impl IntoIterator for Explanation {
    type Item = Section;
    type IntoIter = vec::IntoIter<Section>;

    fn into_iter(self) -> vec::IntoIter<Section> {
        self.0.into_iter()
    }
}

impl<'e> IntoIterator for &'e Explanation {
    type Item = &'e Section;
    type IntoIter = slice::Iter<'e, Section>;

    fn into_iter(self) -> slice::Iter<'e, Section> {
        self.0.iter()
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (k, section) in self.iter().enumerate() {
            let gap = if k == 0 { "" } else { "\n" };
            write!(f, "{gap}{section}")?;
        }
        Ok(())
    }
}

fn section(title: impl Into<String>, text: String) -> Section {
    Section { title: title.into(), text }
}

/// Returns the forms of a kernel below Notation, down to the level of detail.
fn kernel_sections(
    loops: &StageLoops,
    name: &str,
    executable: &Executable,
    detail: Detail,
) -> Result<Vec<Section>, Error> {
    if detail == Detail::Notation {
        return Ok(Vec::new());
    }
    let draft = loops.draft(executable.mode());
    let mut sections = vec![section(format!("assembly of {name}"), assembly::text::print(draft.function()))];
    if let Some(backend) = backend(executable, detail)? {
        let forms = backend.forms(draft).map_err(|source| loops.phase_error(Phase::Compile, source))?;
        sections.extend(forms.into_iter().map(|(form, text)| section(format!("{form} of {name}"), text)));
    }
    Ok(sections)
}

/// Returns the text of all kernels as one unit, if the level of detail requests the text and the
/// target generates such a unit.
fn source_section(executable: &Executable, detail: Detail) -> Result<Option<Section>, Error> {
    if detail == Detail::Code(Target::OPTIMIZING) {
        // Edited C text replaces the generated text.
        return Ok(Some(section("c", executable.optimizing_tier.text(&executable.stages)?)));
    }
    let Some(backend) = backend(executable, detail)? else { return Ok(None) };
    let drafts: Vec<&Draft> =
        executable.stages.iter().filter_map(Stage::loops).map(|loops| loops.draft(executable.mode())).collect();
    let unit = backend.unit(&drafts).map_err(|source| compile_error(&executable.stages, source))?;
    Ok(unit.map(|(language, text)| section(language, text)))
}

/// Returns the backend whose code the level of detail requests.
fn backend(executable: &Executable, detail: Detail) -> Result<Option<Arc<dyn Backend>>, Error> {
    let Detail::Code(target) = detail else { return Ok(None) };
    let backend = target.kernel_target().map(|target| target.backend(&executable.config)).transpose();
    backend.map_err(|source| compile_error(&executable.stages, source))
}

impl Prepared {
    /// Returns the text of every phase. A plan has sections for the forms from the Logic plan down
    /// to the level of detail, for the queries, and for notes. A program has sections for the
    /// program as parsed, the normal form, the checks of bounds, and the lower forms down to the
    /// level of detail. Both have sections for the choice of the engine and, after trials, for the
    /// choices between the tiers.
    ///
    /// ```
    /// use redpoll::Detail;
    ///
    /// let prepared = redpoll::Session::default().vector([1.0, 2.0]).sum(..).prepare()?;
    /// let explanation = prepared.explain(Detail::Notation)?;
    /// assert_eq!(explanation[0].title, "logic");
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    ///
    /// # Errors
    /// Fails if a device has lost an input, or if the requested code of the kernels cannot be
    /// generated.
    pub fn explain(&self, detail: Detail) -> Result<Explanation, Error> {
        let form = self.current();
        let mut sections = match &form.kind {
            CompiledKind::Plan(compiled) => self.plan_sections(compiled, &form.executable, detail)?,
            CompiledKind::Program(compiled) => self.program_sections(compiled, &form.executable, detail)?,
        };
        sections.extend(source_section(&form.executable, detail)?);
        Ok(Explanation(sections))
    }

    /// Returns each kernel as readable C: its loops over plain arrays with short names, without the
    /// code that receives and grows the arrays.
    ///
    /// ```
    /// use redpoll::prelude::*;
    /// use redpoll::{Bindings, Session};
    ///
    /// let session = Session::default();
    /// let (matrix, vector) = (session.sample("karate")?.collect()?, session.vector([1.0; 34]).collect()?);
    /// let bindings = Bindings::new().with("A", matrix).with("x", vector);
    /// let kernels = session.prepare("y(i) = A(i,j) * x(j)", &bindings)?.kernels();
    /// assert!(kernels[0].text.contains("A_ptr"), "{}", kernels[0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn kernels(&self) -> Explanation {
        let form = self.current();
        let executable = &form.executable;
        let kernel = |stage: &Stage| {
            let draft = stage.loops()?.draft(executable.mode());
            Some(section(format!("kernel of {}", stage.name), reading_text(&draft.function_to_read())))
        };
        executable.stages.iter().filter_map(kernel).collect()
    }

    fn plan_sections(
        &self,
        compiled: &CompiledPlan,
        executable: &Executable,
        detail: Detail,
    ) -> Result<Vec<Section>, Error> {
        let mut sections: Vec<Section> =
            compiled.adaptive.report.phases.iter().map(|p| section(p.name, p.plan.to_string())).collect();
        sections.push(section("queries", self.flow()?.to_string()));
        sections.extend(self.engine_sections());
        let notes: String = self.notes().iter().map(|note| format!("{note}\n")).collect();
        if !notes.is_empty() {
            sections.push(section("notes", notes));
        }
        for stage in executable.stages.iter() {
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
            sections.extend(kernel_sections(loops, &stage.name, executable, detail)?);
        }
        Ok(sections)
    }

    fn program_sections(
        &self,
        compiled: &CompiledProgram,
        executable: &Executable,
        detail: Detail,
    ) -> Result<Vec<Section>, Error> {
        let mut sections = Vec::new();
        for stage in executable.stages.iter() {
            let Some(loops) = stage.loops() else { continue };
            sections.push(section("program", notation::print(&loops.source_program)));
            sections.push(section("normal form", notation::print(&loops.program)));
            sections.push(section("bounds", describe_bounds(compiled, &loops.program)));
            sections.extend(kernel_sections(loops, &stage.name, executable, detail)?);
        }
        sections.extend(self.engine_sections());
        Ok(sections)
    }

    /// Returns the placement, and the tier choices of the trials that have ended.
    fn engine_sections(&self) -> Vec<Section> {
        let choices: String = self.tier_choices().iter().map(|choice| format!("{choice}\n")).collect();
        let tiers = (!choices.is_empty()).then(|| section("tiers", choices));
        [section("engine", self.placement().to_string())].into_iter().chain(tiers).collect()
    }
}

/// Describes how coordinates stay in bounds: lists the inputs whose values were scanned, and the
/// checks at run time.
fn describe_bounds(compiled: &CompiledProgram, program: &notation::Program) -> String {
    let mut lines: Vec<String> = scanned_inputs(compiled).iter().map(ToString::to_string).collect();
    for check in bounds_checks(program) {
        let (site, mode) = (&check.site, check.mode);
        let (line, column) = (site.at.line, site.at.column);
        lines.push(format!(
            "line {line}, column {column}: `{}` of `{}` is checked at run time against the size of mode {mode} of `{}`",
            site.subscript, site.access, site.tensor
        ));
    }
    if lines.is_empty() {
        lines.push("all coordinates are proved to be in bounds; none is checked at run time".to_owned());
    }
    lines.join("\n") + "\n"
}
