//! Conversion between the content of files and stored tensors.

use crate::content::{Content, Data, Info, Layout};
use crate::entries::{StoreError, entries_of_tensor, layout_of};
use crate::error::{Error, Fault};
use crate::file_format::{FileFormat, WriteOptions};
use crate::file_formats::frostt::FROSTT;
use crate::memory::{Memory, MemoryScope, bytes_of};
use crate::read::{LoadedFile, parse_file_name};
use crate::values::{Values, match_values};
use crate::write::{WrittenData, write_content, write_data};
use redpoll_logic::{Format, Prim, Scalar, TensorType};
use redpoll_storage::{Duplicates, Tensor, Triples};
use std::path::Path;

impl LoadedFile {
    /// Returns the format that is closest to the file:
    /// - the format in the file, if it contains the arrays of a tensor
    /// - dense for arrays
    /// - CSR, CSC or blocks for matrices in these layouts, CSR for coordinates and diagonals
    /// - compressed in every mode for `.tns` files, for ranks other than 2, and for matrices in
    ///   which the pointers of all fibers would far outnumber the entries
    pub fn default_format(&self) -> Format {
        format_of_file(&self.info, self.data.values().len() as u64)
    }

    /// Stores the tensor in the given format, or else in [`LoadedFile::default_format`], with the
    /// fill value of the file. Also returns the number of entries that repeated the coordinates of
    /// another entry. The values of such entries are added in the order of the file, as in SciPy:
    /// integers wrap, booleans are or-ed.
    ///
    /// # Errors
    /// Fails if the format does not match the shape or cannot store the entries, or the memory
    /// limit is exceeded.
    pub fn into_tensor(self, format: Option<Format>) -> Result<(Tensor, usize), Error> {
        let format = format.unwrap_or_else(|| self.default_format());
        let (shape, path) = (self.info.shape, self.path);
        store(shape, self.info.fill, self.data, format, &self.entry_memory.memory).map_err(|e| e.with_path(path))
    }
}

impl Info {
    /// Returns the format that is closest to the file, as [`LoadedFile::default_format`] does,
    /// without reading the entries. The two formats differ only if the header and the reader count
    /// the entries differently, and the pointers of all fibers far outnumber one of the counts but
    /// not the other.
    pub fn default_format(&self) -> Format {
        format_of_file(self, self.stored)
    }
}

fn format_of_file(info: &Info, entries: u64) -> Format {
    let rank = info.shape.len();
    let hypersparse = |fibers: u64| hypersparse(fibers, entries);
    if let Some(format) = &info.storage {
        return format.clone();
    }
    match info.layout {
        Layout::Array => Format::dense(rank),
        Layout::Bsr { rows, columns } => Format::bcsr(rows, columns),
        Layout::Csc if !hypersparse(info.shape[1]) => Format::csc(),
        Layout::Csc => Format::csf(2).permuted(&[1, 0]),
        _ if rank != 2 || *info.file_format == FROSTT || hypersparse(info.shape[0]) => Format::csf(rank),
        _ => Format::csr(),
    }
}

impl LoadedFile {
    /// Returns the entries sorted row-major, without repeated coordinates, in the layout of the
    /// file. Also returns the number of repeated entries, which are added as in
    /// [`LoadedFile::into_tensor`].
    ///
    /// # Errors
    /// Fails if the memory limit is exceeded.
    pub fn into_content(self) -> Result<(Content, usize), Error> {
        let LoadedFile { path, info, data, entry_memory, .. } = self;
        let (rank, layout) = (info.shape.len(), info.layout);
        let fill = info.fill;
        if is_sorted(&data) {
            return Ok((Content { shape: info.shape, fill, layout, data }, 0));
        }
        match store(info.shape, fill, data, Format::csf(rank), &entry_memory.memory) {
            Ok((tensor, duplicates)) => {
                let scope = MemoryScope::new(&entry_memory.memory);
                let content = Content::from_tensor_within(&path, &tensor, scope.memory())?;
                Ok((Content { layout, ..content }, duplicates))
            }
            Err(e) => Err(e.with_path(path)),
        }
    }
}

/// Returns whether entries are sorted row-major without repeated coordinates.
fn is_sorted(data: &Data) -> bool {
    let Data::Triples { coordinates, values } = data else { return true };
    let before = |k: &usize| coordinates.iter().map(|c| c[k - 1].cmp(&c[*k])).find(|o| o.is_ne());
    (1..values.len()).all(|k| before(&k) == Some(std::cmp::Ordering::Less))
}

/// Returns whether the pointers of the fibers would far outnumber the entries.
fn hypersparse(fibers: u64, entries: u64) -> bool {
    // Up to 2^24 pointers are cheap for any number of entries.
    fibers > entries.saturating_mul(16).saturating_add(1 << 24)
}

/// Stores entries. Adds the values of entries with repeated coordinates, and counts such entries.
/// The tensor is charged to the memory while it lives.
fn store(
    shape: Vec<u64>,
    fill: Scalar,
    data: Data,
    format: Format,
    memory: &Memory,
) -> Result<(Tensor, usize), StoreError> {
    let ty = TensorType { shape: shape.clone(), dtype: data.values().prim().into(), fill, format };
    ty.validate().map_err(redpoll_storage::Error::from)?;
    let scope = MemoryScope::new(memory);
    scope.memory().charge("sorting entries", sort_bytes(&ty, &data))?;
    // Sizes beyond the address space are rejected later, when the tensor is constructed.
    if let Some(bytes) = Some(full_level_bytes(&ty)).filter(|&bytes| bytes <= isize::MAX as u64) {
        scope.memory().charge(full_level_purpose(&ty), bytes)?;
    }
    let (tensor, duplicates) = match data {
        Data::Dense(values) => (Tensor::from_dense(ty, &values.into())?, 0),
        Data::Triples { coordinates, values } => {
            let triples = Triples { shape, coordinates, values: values.into() };
            Tensor::from_triples(ty, &triples, Duplicates::Add)?
        }
    };
    drop(scope);
    let (bytes, budget) = (tensor.bytes(), memory.budget());
    let fault = || {
        let (used, limit) = (budget.used() as u64, budget.limit() as u64);
        Fault::MemoryLimit { purpose: "the tensor", bytes, used, limit }
    };
    Ok((tensor.charged(budget).ok_or_else(fault)?, duplicates))
}

/// Returns the bytes needed to sort entries: coordinates and values before and after the sort, the
/// keys twice, and the order. Dense data need no sort in the dense format.
fn sort_bytes(ty: &TensorType, data: &Data) -> u64 {
    if matches!(data, Data::Dense(_)) && ty.format == Format::dense(ty.shape.len()) {
        return 0;
    }
    let values = data.values();
    bytes_of(values.len(), 16 * ty.shape.len() + 40 + 2 * values.prim().bytes())
}

/// Returns the purpose of the bytes of [`full_level_bytes`].
fn full_level_purpose(ty: &TensorType) -> &'static str {
    match ty.format.levels.iter().all(|level| level.kind.traits().full) {
        true => "a tensor that stores all elements",
        false => "a tensor that stores a pointer for each fiber",
    }
}

/// Returns the bytes of the pointers or values below the outermost levels that store all
/// coordinates. The tensor needs these bytes even if it has no entries.
fn full_level_bytes(ty: &TensorType) -> u64 {
    let storage = ty.format.storage_shape(&ty.shape);
    let full = ty.format.levels.iter().take_while(|level| level.kind.traits().full).count();
    let count = storage[..full].iter().fold(1u64, |n, &d| n.saturating_mul(d));
    // The next level stores pointers, or the leaf stores values.
    let element_bytes = if full == storage.len() { ty.dtype.prim().map_or(8, Prim::bytes) } else { size_of::<u64>() };
    if full == 0 { 0 } else { count.saturating_mul(element_bytes as u64) }
}

/// Writes a tensor to a file. The name of the file determines the format and the compression, as
/// for [`write_content`]. `.rpt` files contain the arrays of the tensor, in its storage format;
/// other files contain its entries.
///
/// # Errors
/// The errors of [`write_content`]; also fails for tensors of structs, except in `.rpt` files.
pub fn write(path: impl AsRef<Path>, tensor: &Tensor, options: &WriteOptions) -> Result<(), Error> {
    let path = path.as_ref();
    let file_format = options.file_format.or(parse_file_name(path).0);
    if file_format.is_some_and(FileFormat::stores_arrays) {
        return write_data(path, &WrittenData::Arrays(tensor), options);
    }
    let scope = MemoryScope::new(&options.memory);
    write_content(path, &Content::from_tensor_within(path, tensor, scope.memory())?, options)
}

impl Content {
    /// Returns the format in which [`Content::into_tensor`] stores the tensor by default.
    pub(crate) fn default_format(&self) -> Format {
        let rank = self.shape.len();
        match &self.data {
            Data::Dense(_) => Format::dense(rank),
            Data::Triples { .. } if rank == 2 && !hypersparse(self.shape[0], self.data.values().len() as u64) => {
                Format::csr()
            }
            Data::Triples { .. } => Format::csf(rank),
        }
    }

    /// Stores the tensor in the given format. By default, the format is dense for dense data, CSR
    /// for matrices whose rows do not far outnumber the entries, and otherwise CSF.
    ///
    /// # Errors
    /// Fails if the format does not match the shape or cannot store the entries, or memory is
    /// exhausted.
    pub fn into_tensor(self, format: Option<Format>) -> Result<Tensor, Error> {
        let format = format.unwrap_or_else(|| self.default_format());
        match store(self.shape, self.fill, self.data, format, &Memory::default()) {
            Ok((tensor, _)) => Ok(tensor),
            Err(StoreError::Storage(source)) => Err(Error::Unstorable { source }),
            Err(StoreError::Memory(fault)) => unreachable!("there is no limit: {fault}"),
        }
    }

    /// Returns the entries of a tensor; `path` is reported in errors.
    ///
    /// # Errors
    /// Fails for tensors of structs, and if the arrays of the tensor cannot be read.
    pub fn of_tensor(path: impl AsRef<Path>, tensor: &Tensor) -> Result<Content, Error> {
        Content::from_tensor_within(path.as_ref(), tensor, &Memory::default())
    }

    /// Returns the entries like [`Content::of_tensor`], with allocations charged to `memory`.
    pub(crate) fn from_tensor_within(path: &Path, tensor: &Tensor, memory: &Memory) -> Result<Content, Error> {
        let ty = tensor.ty();
        if ty.dtype.prim().is_none() {
            let hint = "write it as .rpt, or each member as a tensor of its own";
            let fault = Fault::unsupported(format!("the dtype {}", ty.dtype), hint);
            return Err(Error::Unwritable { path: path.into(), fault });
        }
        let data = entries_of_tensor(tensor, memory).map_err(|e| e.with_path(path.into()))?;
        Ok(Content { shape: ty.shape.clone(), fill: ty.fill.clone(), layout: layout_of(&ty.format), data })
    }
}

impl From<Values> for redpoll_storage::Values {
    /// Moves the vector without copying it, except for booleans.
    fn from(values: Values) -> redpoll_storage::Values {
        match_values!(values, v => v.into())
    }
}
