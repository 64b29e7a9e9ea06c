//! Arrays from files, and files of arrays.

use super::Array;
use super::sources::{Source, Sources, unique_name};
use super::state::{ArrayState, ModeStyle, positions};
use crate::error::Error;
use crate::session::Session;
use redpoll_datasets::file_formats::FileFormat;
use redpoll_datasets::file_formats::edge_list::{Column, Dictionary, EdgeListOptions, Vertices, Weight};
use redpoll_datasets::{Info, Memory, ReadOptions, WriteOptions, info_within, open, read, read_bytes, sample, write};
use redpoll_logic::{DType, Expr, Format, Prim, Scalar, TensorType};
use redpoll_storage::Tensor;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

impl Session {
    /// Reads an array from a file. The name or the first bytes of the file determine its format,
    /// see [`datasets`](crate::datasets). [`Session::scan`] takes options.
    ///
    /// The memory of the array counts against the limit of the session. Values at equal coordinates
    /// are added; booleans are or-ed.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// # let folder = std::env::temp_dir().join(format!("redpoll-read-{}", std::process::id()));
    /// # std::fs::create_dir_all(&folder)?;
    /// let path = folder.join("vector.npy");
    /// session.vector([1.0, 2.0]).write(&path)?;
    /// assert_eq!(session.read(&path)?.to_vec::<f64>()?, [1.0, 2.0]);
    /// # std::fs::remove_dir_all(&folder)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Fails if the file is missing, of an unknown format, damaged or invalid, or the memory limit
    /// is exceeded.
    pub fn read(&self, path: impl AsRef<Path>) -> Result<Array, Error> {
        self.scan(path).read()
    }

    /// Returns a description of an array in a file. The description takes options, and the file is
    /// read only when its header or its values are needed.
    ///
    /// ```
    /// use redpoll::prelude::*;
    ///
    /// # let session = Session::default();
    /// # let folder = std::env::temp_dir().join(format!("redpoll-scan-{}", std::process::id()));
    /// # std::fs::create_dir_all(&folder)?;
    /// let path = folder.join("ratings.csv");
    /// std::fs::write(&path, "user,day,film,stars\nann,1,Solaris,5\nbob,2,Alien,4\nann,3,Alien,2\n")?;
    /// let scan = session.scan(&path).columns(["user", "film"]).values("stars").vertices_per_mode();
    /// let ratings = scan.dtype(Prim::F32).format(Format::csc()).read()?;
    /// assert_eq!(ratings.to_vec::<f32>()?, [5.0, 2.0, 0.0, 4.0]);
    /// # std::fs::remove_dir_all(&folder)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn scan(&self, path: impl AsRef<Path>) -> FileScan {
        let options = ReadOptions { memory: self.file_memory(), ..ReadOptions::default() };
        FileScan { session: self.clone(), path: path.as_ref().to_owned(), options, format: None }
    }

    /// Returns a small real data set that ships with redpoll: [`SAMPLES`](crate::datasets::SAMPLES)
    /// lists these data sets.
    ///
    /// ```
    /// let session = redpoll::Session::default();
    /// assert_eq!(session.sample("karate")?.shape()?, [34, 34]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    ///
    /// # Errors
    /// Fails if there is no such sample.
    pub fn sample(&self, name: &str) -> Result<Array, Error> {
        let sample = sample(name).ok_or_else(|| Error::UnknownSample { name: name.to_owned() })?;
        let (tensor, _) = read_bytes(sample.file_name, sample.bytes, &ReadOptions::default())?.into_tensor(None)?;
        Ok(self.array(tensor))
    }

    fn file_memory(&self) -> Memory {
        Memory::of(self.limits().memory.clone())
    }
}

impl Array {
    /// Computes the array and writes it to a file; the extension of the name determines the file
    /// format. A file of this name is replaced once the new file is complete. Text, such as `.csv`,
    /// does not keep the dtype: [`FileScan::dtype`] sets it for reading.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// # let folder = std::env::temp_dir().join(format!("redpoll-write-{}", std::process::id()));
    /// # std::fs::create_dir_all(&folder)?;
    /// let path = folder.join("matrix.npz");
    /// session.dense([2, 2], [1.0, 0.0, 0.0, 2.0]).to_csr().write(&path)?;
    /// assert_eq!(session.read(&path)?.to_vec::<f64>()?, [1.0, 0.0, 0.0, 2.0]);
    /// # std::fs::remove_dir_all(&folder)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Array::collect`]; also if the extension is unknown, the file format cannot
    /// hold the array, or the file cannot be written.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let options = WriteOptions { memory: self.session().file_memory(), ..WriteOptions::default() };
        Ok(write(path, &self.collect()?, &options)?)
    }
}

/// The names of the coordinates in each mode, or `None` for a mode without names.
pub type CoordinateNames = Vec<Option<Arc<Dictionary>>>;

/// An array in a file, with the options for reading it; see [`Session::scan`].
#[derive(Clone, Debug)]
#[must_use = "a scan reads nothing by itself; call `array` or `read`"]
pub struct FileScan {
    session: Session,
    path: PathBuf,
    options: ReadOptions,
    format: Option<Format>,
}

impl FileScan {
    /// Sets the dtype of the values, by default the dtype of the file. A value that does not fit is
    /// an error; only 0 and 1 fit `bool`.
    ///
    /// [`Session::scan`] has an example.
    pub fn dtype(mut self, dtype: Prim) -> FileScan {
        self.options.dtype = Some(dtype);
        self
    }

    /// Sets the format in which the array is stored, by default the format closest to the file.
    ///
    /// [`Session::scan`] has an example.
    pub fn format(mut self, format: Format) -> FileScan {
        self.format = Some(format);
        self
    }

    /// Sets the file format. By default, the name or the first bytes of the file determine the
    /// format.
    ///
    /// ```
    /// use redpoll::datasets::file_formats::FileFormat;
    ///
    /// # let session = redpoll::Session::default();
    /// # let folder = std::env::temp_dir().join(format!("redpoll-file-format-{}", std::process::id()));
    /// # std::fs::create_dir_all(&folder)?;
    /// let path = folder.join("matrix.data");
    /// std::fs::write(&path, "0,1,2.5\n1,0,4.5\n")?;
    /// let csv = FileFormat::of_extension("csv").expect("redpoll reads edge lists");
    /// let matrix = session.scan(&path).file_format(csv).read()?;
    /// assert_eq!(matrix.to_vec::<f64>()?, [0.0, 2.5, 4.5, 0.0]);
    /// # std::fs::remove_dir_all(&folder)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn file_format(mut self, file_format: &'static FileFormat) -> FileScan {
        self.options.file_format = Some(file_format);
        self
    }

    /// Sets the columns of coordinates of an edge list (`.csv`, `.tsv`), mode by mode, by the names
    /// in the header.
    ///
    /// [`Session::scan`] has an example.
    pub fn columns(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> FileScan {
        self.options.edge_list.coordinates = names.into_iter().map(|name| Column::Name(name.into())).collect();
        self
    }

    /// Sets the column of values of an edge list by its name in the header.
    ///
    /// [`Session::scan`] has an example.
    pub fn values(mut self, name: impl Into<String>) -> FileScan {
        self.options.edge_list.weight = Weight::Column(Column::Name(name.into()));
        self
    }

    /// Numbers the coordinates of an edge list separately in each mode, as for users and items. By
    /// default, both modes of a matrix index the same set of vertices, so the matrix is square,
    /// unless a comment in the file says otherwise.
    ///
    /// [`Session::scan`] has an example.
    pub fn vertices_per_mode(mut self) -> FileScan {
        self.options.edge_list.vertices = Vertices::PerMode;
        self
    }

    /// Sets the names that coordinates have already, mode by mode, so that arrays of several files
    /// can be joined by name. Further names in the file are numbered after these names. Each mode
    /// is as large as its number of names, so a file that was read earlier is read again with the
    /// names of all files.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// # let folder = std::env::temp_dir().join(format!("redpoll-shared-names-{}", std::process::id()));
    /// # std::fs::create_dir_all(&folder)?;
    /// let (stock, sales) = (folder.join("stock.csv"), folder.join("sales.csv"));
    /// std::fs::write(&stock, "item,amount\npear,3\nplum,4\n")?;
    /// std::fs::write(&sales, "item,amount\nplum,1\nfig,2\n")?;
    /// let scan = |path| session.scan(path).columns(["item"]).values("amount");
    /// let (_, names) = scan(&stock).read_with_names()?;
    /// let (sales, names) = scan(&sales).names(names).read_with_names()?;
    /// let stock = scan(&stock).names(names).read()?;
    /// assert_eq!((stock * sales).to_vec::<i64>()?, [0, 4, 0]);
    /// # std::fs::remove_dir_all(&folder)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn names(mut self, names: CoordinateNames) -> FileScan {
        self.options.edge_list.names = names;
        self
    }

    /// Sets all options of edge lists.
    ///
    /// ```
    /// use redpoll::datasets::file_formats::edge_list::EdgeListOptions;
    ///
    /// # let session = redpoll::Session::default();
    /// # let folder = std::env::temp_dir().join(format!("redpoll-edge-list-{}", std::process::id()));
    /// # std::fs::create_dir_all(&folder)?;
    /// let path = folder.join("edges.csv");
    /// std::fs::write(&path, "1,2,2.5\n2,1,4.5\n")?;
    /// let options = EdgeListOptions { first: 1, ..EdgeListOptions::default() };
    /// let matrix = session.scan(&path).edge_list(options).read()?;
    /// assert_eq!(matrix.to_vec::<f64>()?, [0.0, 2.5, 4.5, 0.0]);
    /// # std::fs::remove_dir_all(&folder)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn edge_list(mut self, options: EdgeListOptions) -> FileScan {
        self.options.edge_list = options;
        self
    }

    /// Returns the header of the file: shape, dtype and number of entries. Formats without a header
    /// (`.tns`, `.csv`, `.tsv`) are read as a whole. The options of the scan do not apply.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// # let folder = std::env::temp_dir().join(format!("redpoll-info-{}", std::process::id()));
    /// # std::fs::create_dir_all(&folder)?;
    /// let path = folder.join("zeros.npy");
    /// session.dense([2, 3], [0.0; 6]).write(&path)?;
    /// assert_eq!(session.scan(&path).info()?.shape, [2, 3]);
    /// # std::fs::remove_dir_all(&folder)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Fails if the file cannot be read, or its header is invalid.
    pub fn info(&self) -> Result<Info, Error> {
        Ok(info_within(&self.path, &self.options.memory)?)
    }

    /// Returns the array, whose file is read by the first plan that needs the values. Shape and
    /// dtype come from the header. The file is read immediately if its extension belongs to a
    /// format without a header (`.tns`, `.csv`, `.tsv`) or is unknown, or if a file format is set.
    /// The file is also read immediately if the scan sets another dtype than the header has, and
    /// the file contains structs or has a fill value other than zero.
    ///
    /// The file must not change before it is read. If its shape, dtype, fill value or format has
    /// changed, computing the array fails.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// # let folder = std::env::temp_dir().join(format!("redpoll-scan-array-{}", std::process::id()));
    /// # std::fs::create_dir_all(&folder)?;
    /// let path = folder.join("vector.npy");
    /// session.vector([1.0, 2.0]).write(&path)?;
    /// let vector = session.scan(&path).array()?;
    /// assert_eq!(vector.shape()?, [2]);
    /// // The next line reads the values.
    /// assert_eq!(vector.sum(..).item::<f64>()?, 3.0);
    /// # std::fs::remove_dir_all(&folder)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`FileScan::info`]; also if the format does not match the shape. For a file
    /// that is read immediately, the errors of [`FileScan::read`].
    pub fn array(&self) -> Result<Array, Error> {
        let has_header = FileFormat::of_file_name(&self.path).is_some_and(|f| f.has_header);
        if !has_header || self.options.file_format.is_some() {
            return self.read();
        }
        let info = self.info()?;
        let format = self.format.clone().unwrap_or_else(|| info.default_format());
        let (dtype, fill) = match self.options.dtype {
            None => (info.dtype, info.fill),
            Some(dtype) if info.dtype == DType::Prim(dtype) => (info.dtype, info.fill),
            Some(dtype) if info.dtype.prim().is_some_and(|prim| info.fill == Scalar::zero(prim)) => {
                (DType::Prim(dtype), Scalar::zero(dtype))
            }
            // Only the reader can check whether structs, or a fill value other than zero, fit the
            // dtype.
            Some(_) => return self.read(),
        };
        let ty = TensorType { shape: info.shape, dtype, fill, format: format.clone() };
        ty.validate().map_err(redpoll_storage::Error::from)?;
        let scan = FileScan { format: Some(format), ..self.clone() };
        let file = ScannedFile { scan, ty: Arc::new(ty), tensor: Mutex::default() };
        let (name, fields) = (unique_name("file"), positions(file.ty.shape.len()));
        let expr = Expr::table(name.clone(), file.ty.clone(), fields).expect("each mode has one field");
        let sources = Sources::one(name, Source::File(Arc::new(file)));
        Ok(Array::new(self.session.clone(), ArrayState { expr, style: ModeStyle::Positional, sources }))
    }

    /// Reads the file and returns the array.
    ///
    /// ```
    /// use redpoll::logic::Prim;
    ///
    /// # let session = redpoll::Session::default();
    /// # let folder = std::env::temp_dir().join(format!("redpoll-scan-read-{}", std::process::id()));
    /// # std::fs::create_dir_all(&folder)?;
    /// let path = folder.join("vector.npy");
    /// session.vector([1.0, 2.0]).write(&path)?;
    /// let vector = session.scan(&path).dtype(Prim::F32).read()?;
    /// assert_eq!(vector.to_vec::<f32>()?, [1.0, 2.0]);
    /// # std::fs::remove_dir_all(&folder)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Session::read`]; also if a value does not fit the dtype, the format does not
    /// match the shape, or a column does not exist.
    pub fn read(&self) -> Result<Array, Error> {
        Ok(self.session.array(self.tensor()?))
    }

    /// Reads an edge list with names in place of coordinates, and returns the array and the names.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// # let folder = std::env::temp_dir().join(format!("redpoll-names-{}", std::process::id()));
    /// # std::fs::create_dir_all(&folder)?;
    /// let path = folder.join("ratings.csv");
    /// std::fs::write(&path, "user,film,stars\nann,Solaris,5\nbob,Alien,4\nann,Alien,2\n")?;
    /// let scan = session.scan(&path).columns(["user", "film"]).values("stars").vertices_per_mode();
    /// let (ratings, names) = scan.read_with_names()?;
    /// let films = names[1].as_ref().expect("films have names");
    /// assert_eq!((ratings.shape()?, films.name(0)), (vec![2, 2], Some("Solaris")));
    /// # std::fs::remove_dir_all(&folder)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`FileScan::read`].
    pub fn read_with_names(&self) -> Result<(Array, CoordinateNames), Error> {
        let file = read(&self.path, &self.options)?;
        let names = file.dictionaries.clone();
        let (tensor, _) = file.into_tensor(self.format.clone())?;
        let names = if names.is_empty() { vec![None; tensor.ty().shape.len()] } else { names };
        Ok((self.session.array(tensor), names))
    }

    fn tensor(&self) -> Result<Tensor, Error> {
        Ok(open(&self.path, &self.options, self.format.clone())?.tensor)
    }
}

/// A file that is read by the first plan that needs its values.
#[derive(Debug)]
pub(crate) struct ScannedFile {
    scan: FileScan,
    /// The type of the tensor according to the header and the options of the scan.
    ty: Arc<TensorType>,
    tensor: Mutex<Option<Tensor>>,
}

impl ScannedFile {
    /// Returns the tensor; the first call reads the file.
    ///
    /// # Errors
    /// The errors of [`FileScan::read`]; also if the type of the tensor has changed after the
    /// header of the file was read.
    pub(crate) fn tensor(&self) -> Result<Tensor, Error> {
        let mut shared = self.tensor.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(tensor) = &*shared {
            return Ok(tensor.clone());
        }
        let tensor = self.scan.tensor()?;
        if tensor.ty() != &self.ty {
            return Err(Error::ChangedFile { path: self.scan.path.clone() });
        }
        Ok(shared.insert(tensor).clone())
    }
}
