//! The files of a crate as a graph: a file depends on the files that define the items it names.
//!
//! Dependencies come from `use` declarations and from paths of two or more segments, also within
//! macros. Paths are resolved through re-exports to the defining file. Re-exports, test items and
//! calls of methods add no dependencies.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use petgraph::algo::tarjan_scc;
use petgraph::graph::{DiGraph, NodeIndex};
use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemUse, UseTree, Visibility};

/// Index of a module in [`Crate::modules`].
type ModuleId = usize;
/// Index of a file in [`Crate::files`].
type FileId = usize;

/// A parsed crate.
pub(crate) struct Crate {
    modules: Vec<Module>,
    files: Vec<SourceFile>,
}

/// A file of a crate.
pub(crate) struct SourceFile {
    /// The path from the root of the crate's sources.
    pub(crate) path: PathBuf,
    /// Number of lines, without the lines of test items.
    pub(crate) lines: usize,
}

/// A module, in its own file or inline.
struct Module {
    file: FileId,
    parent: Option<ModuleId>,
    children: HashMap<String, ModuleId>,
    /// Names of the items that the module defines.
    items: HashSet<String>,
    imports: Vec<Import>,
    /// Paths in signatures and bodies, of two or more segments.
    paths: Vec<Vec<String>>,
    /// The first segments of all paths, which a glob import may bring into scope.
    names: HashSet<String>,
}

/// One path of a `use` declaration.
struct Import {
    path: Vec<String>,
    /// The name in scope; `None` for a glob.
    name: Option<String>,
    is_public: bool,
}

/// The target of a path.
#[derive(Clone, Copy)]
enum Target {
    Module(ModuleId),
    /// An item, represented by the file that defines it.
    Item(FileId),
}

impl Crate {
    /// Parses the crate whose root module is the file `root` of the folder `sources`.
    pub(crate) fn parse(sources: &Path, root: &str) -> Crate {
        let mut parsed = Crate { modules: Vec::new(), files: Vec::new() };
        parsed.add_file(sources, Path::new(root), None);
        parsed
    }

    /// Returns the total number of lines, without the lines of test items.
    pub(crate) fn lines(&self) -> usize {
        self.files.iter().map(|file| file.lines).sum()
    }

    /// Returns the strongly connected component with the most lines.
    pub(crate) fn largest_component(&self) -> Vec<&SourceFile> {
        let mut graph = DiGraph::<(), ()>::new();
        let nodes: Vec<NodeIndex> = self.files.iter().map(|_| graph.add_node(())).collect();
        for (from, to) in self.edges() {
            graph.update_edge(nodes[from], nodes[to], ());
        }
        let files = |component: Vec<NodeIndex>| -> Vec<&SourceFile> {
            component.into_iter().map(|node| &self.files[node.index()]).collect()
        };
        let lines = |component: &Vec<&SourceFile>| component.iter().map(|file| file.lines).sum::<usize>();
        tarjan_scc(&graph).into_iter().map(files).max_by_key(lines).unwrap_or_default()
    }

    /// Returns pairs of files, in each of which the first file depends on the second.
    pub(crate) fn dependencies(&self) -> impl Iterator<Item = (&Path, &Path)> {
        let path = |file: FileId| self.files[file].path.as_path();
        self.edges().into_iter().map(move |(from, to)| (path(from), path(to)))
    }

    fn add_file(&mut self, sources: &Path, path: &Path, parent: Option<ModuleId>) -> ModuleId {
        let text = fs::read_to_string(sources.join(path)).unwrap();
        let syntax = syn::parse_file(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let file = self.files.len();
        self.files.push(SourceFile { path: path.to_owned(), lines: text.lines().count() });
        let is_root = ["lib.rs", "main.rs", "mod.rs"].iter().any(|name| path.ends_with(name));
        let folder = if is_root { path.parent().unwrap().to_owned() } else { path.with_extension("") };
        self.add_module(sources, &folder, file, parent, &syntax.items)
    }

    /// Adds a module with its items; `folder` has the files of its child modules.
    fn add_module(
        &mut self,
        sources: &Path,
        folder: &Path,
        file: FileId,
        parent: Option<ModuleId>,
        items: &[Item],
    ) -> ModuleId {
        let id = self.modules.len();
        self.modules.push(Module::new(file, parent));
        for item in items {
            if is_test(attributes(item)) {
                if !matches!(item, Item::Mod(module) if module.content.is_none()) {
                    self.files[file].lines -= line_count(item);
                }
                continue;
            }
            let Item::Mod(module) = item else {
                self.modules[id].items.extend(item_name(item));
                self.modules[id].visit_item(item);
                continue;
            };
            let name = module.ident.to_string();
            let child = match &module.content {
                Some((_, items)) => self.add_module(sources, &folder.join(&name), file, Some(id), items),
                None => {
                    let candidates = [folder.join(&name).with_extension("rs"), folder.join(&name).join("mod.rs")];
                    let path = candidates.iter().find(|path| sources.join(path).is_file());
                    let path = path.unwrap_or_else(|| panic!("module {name} of {} has no file", folder.display()));
                    self.add_file(sources, path, Some(id))
                }
            };
            self.modules[id].children.insert(name, child);
        }
        id
    }

    /// Returns the dependencies between files, without dependencies of a file on itself.
    fn edges(&self) -> HashSet<(FileId, FileId)> {
        let mut edges = HashSet::new();
        for (id, module) in self.modules.iter().enumerate() {
            let mut add = |target: Option<Target>| {
                if let Some(Target::Item(file)) = target
                    && file != module.file
                {
                    edges.insert((module.file, file));
                }
            };
            module.paths.iter().for_each(|path| add(self.resolve(id, path, &mut HashSet::new())));
            for import in module.imports.iter().filter(|import| !import.is_public) {
                let target = self.resolve(id, &import.path, &mut HashSet::new());
                match (&import.name, target) {
                    (None, Some(Target::Module(from))) => {
                        let outside = module.names.iter().filter(|name| !module.items.contains(*name));
                        outside.for_each(|name| add(self.lookup(from, name, &mut HashSet::new())));
                    }
                    _ => add(target),
                }
            }
        }
        edges
    }

    /// Resolves a path in a module; returns `None` if the path leads to no module or item of this
    /// crate. `open` contains the lookups in progress, so that the resolution of cyclic imports
    /// ends.
    fn resolve(&self, module: ModuleId, path: &[String], open: &mut HashSet<(ModuleId, String)>) -> Option<Target> {
        let (first, mut rest) = path.split_first()?;
        let mut target = match first.as_str() {
            "crate" => Target::Module(0),
            "self" => Target::Module(module),
            "super" => {
                let mut ancestor = self.modules[module].parent?;
                while let Some((next, after)) = rest.split_first()
                    && next == "super"
                {
                    ancestor = self.modules[ancestor].parent?;
                    rest = after;
                }
                Target::Module(ancestor)
            }
            _ => self.lookup(module, first, open)?,
        };
        for name in rest {
            let Target::Module(id) = target else { break };
            target = self.lookup(id, name, open)?;
        }
        Some(target)
    }

    /// Finds a name in the scope of a module.
    fn lookup(&self, id: ModuleId, name: &str, open: &mut HashSet<(ModuleId, String)>) -> Option<Target> {
        let module = &self.modules[id];
        if let Some(child) = module.children.get(name) {
            return Some(Target::Module(*child));
        }
        if module.items.contains(name) {
            return Some(Target::Item(module.file));
        }
        if !open.insert((id, name.to_owned())) {
            return None;
        }
        let named = module.imports.iter().filter(|import| import.name.as_deref() == Some(name));
        let found =
            named.filter(|import| import.path != [name]).find_map(|import| self.resolve(id, &import.path, open));
        let globs = module.imports.iter().filter(|import| import.name.is_none());
        let found = found.or_else(|| {
            globs.into_iter().find_map(|import| match self.resolve(id, &import.path, open)? {
                Target::Module(from) if from != id => self.lookup(from, name, open),
                _ => None,
            })
        });
        open.remove(&(id, name.to_owned()));
        found
    }
}

impl Module {
    fn new(file: FileId, parent: Option<ModuleId>) -> Module {
        Module {
            file,
            parent,
            children: HashMap::new(),
            items: HashSet::new(),
            imports: Vec::new(),
            paths: Vec::new(),
            names: HashSet::new(),
        }
    }

    fn add_path(&mut self, path: Vec<String>) {
        self.names.extend(path.first().cloned());
        if path.len() > 1 {
            self.paths.push(path);
        }
    }

    fn add_imports(&mut self, tree: &UseTree, mut prefix: Vec<String>, is_public: bool) {
        let (name, last) = match tree {
            UseTree::Path(path) => {
                prefix.push(path.ident.to_string());
                return self.add_imports(&path.tree, prefix, is_public);
            }
            UseTree::Group(group) => {
                return group.items.iter().for_each(|tree| self.add_imports(tree, prefix.clone(), is_public));
            }
            UseTree::Glob(_) => (None, None),
            UseTree::Name(name) => (Some(name.ident.to_string()), Some(name.ident.to_string())),
            UseTree::Rename(rename) => (Some(rename.rename.to_string()), Some(rename.ident.to_string())),
        };
        match last {
            // `a::{self}` imports `a`.
            Some(last) if last == "self" && !prefix.is_empty() => {
                let name = name.filter(|name| name != "self").or(prefix.last().cloned());
                self.imports.push(Import { path: prefix, name, is_public });
            }
            last => {
                prefix.extend(last);
                self.imports.push(Import { path: prefix, name, is_public });
            }
        }
    }

    /// Adds the paths among the tokens of a macro, which have no syntax tree.
    fn add_tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(ident) => {
                    if colons != 2 {
                        self.add_path(std::mem::take(&mut path));
                    }
                    path.push(ident.to_string());
                    colons = 0;
                }
                TokenTree::Punct(punct) if punct.as_char() == ':' => colons += 1,
                other => {
                    self.add_path(std::mem::take(&mut path));
                    colons = 0;
                    if let TokenTree::Group(group) = other {
                        self.add_tokens(group.stream());
                    }
                }
            }
        }
        self.add_path(path);
    }
}

impl Visit<'_> for Module {
    fn visit_item(&mut self, item: &Item) {
        if !is_test(attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &ItemUse) {
        let is_public = !matches!(item.vis, Visibility::Inherited);
        self.add_imports(&item.tree, Vec::new(), is_public);
    }

    fn visit_visibility(&mut self, _: &Visibility) {}

    fn visit_path(&mut self, path: &syn::Path) {
        self.add_path(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &syn::Macro) {
        visit::visit_macro(self, call);
        self.add_tokens(call.tokens.clone());
    }
}

/// Returns whether an item is a test, or has a `cfg` that contains `test` but no `not`.
fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let condition = attribute.meta.require_list().map(|list| list.tokens.to_string()).unwrap_or_default();
        attribute.path().is_ident("test")
            || attribute.path().is_ident("cfg")
                && condition.split(|c: char| !c.is_alphanumeric()).any(|word| word == "test")
                && !condition.contains("not")
    })
}

/// Returns the number of lines of an item, its attributes included.
fn line_count(item: &Item) -> usize {
    use syn::spanned::Spanned;
    let span = item.span();
    span.end().line - span.start().line + 1
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::ExternCrate(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::ForeignMod(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

fn item_name(item: &Item) -> Option<String> {
    let ident = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(ident.to_string())
}
