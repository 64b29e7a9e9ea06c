//! The forms of each query: readable C, Notation, its normal form, Assembly, the Cranelift IR of
//! the instant tier, the C of the optimizing tier, grids, and CUDA.

use crate::compiler::{assembly, notation};
use crate::engine::{Stage, StageLoops};
use crate::executable::Executable;
use crate::kernels::c::reading_text;
use crate::logic::Alias;
use crate::{Prepared, Section, Target};

/// The forms of one query.
pub(super) struct QueryForms {
    /// The name of the query.
    pub(super) query: String,
    /// The tensors that the query reads.
    pub(super) reads: Vec<Alias>,
    /// The tensors that the query writes.
    pub(super) writes: Vec<Alias>,
    /// The forms; none for a conversion of storage without a schedule.
    pub(super) forms: Vec<Section>,
}

/// The targets whose code is shown.
const TARGETS: [Target; 3] = [Target::INSTANT, Target::OPTIMIZING, Target::cuda(0)];

/// Returns the forms of each query of a plan, or of a program.
pub(super) fn query_forms(prepared: &Prepared) -> Vec<QueryForms> {
    let executable = &prepared.current().executable;
    let forms = |stage: &Stage| QueryForms {
        query: stage.name.clone(),
        reads: stage.reads.clone(),
        writes: stage.writes.clone(),
        forms: stage.loops().map_or_else(Vec::new, |loops| forms_of(loops, executable)),
    };
    executable.stages.iter().map(forms).collect()
}

/// Returns the forms of the loops of a stage. If a target cannot generate code, its section has the
/// error instead.
fn forms_of(loops: &StageLoops, executable: &Executable) -> Vec<Section> {
    let section = |title: &str, text: String| Section { title: title.to_owned(), text };
    let draft = loops.draft(executable.mode());
    let mut forms = vec![
        section("C to read", reading_text(&draft.function_to_read())),
        section("Notation", notation::print(&loops.source_program)),
    ];
    if loops.source_program != *loops.program {
        forms.push(section("Notation in normal form", notation::print(&loops.program)));
    }
    forms.push(section("Assembly", assembly::text::print(draft.function())));
    for target in TARGETS {
        let texts = target.backend(&executable.config).and_then(|backend| {
            let forms = backend.forms(draft)?.into_iter();
            Ok(forms.chain(backend.unit(&[draft])?).collect::<Vec<_>>())
        });
        match texts {
            Ok(texts) => forms.extend(texts.into_iter().map(|(form, text)| section(&title(form), text))),
            Err(error) => forms.push(section(target.name(), error.to_string())),
        }
    }
    forms
}

/// Returns the title of a form that a backend generates.
fn title(form: &str) -> String {
    match form {
        "clif" => "Cranelift IR of the instant tier".to_owned(),
        "c" => "C of the optimizing tier".to_owned(),
        "cuda" => "CUDA".to_owned(),
        grid => format!("{grid} for devices"),
    }
}
