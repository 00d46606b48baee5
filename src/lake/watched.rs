//! An object store whose calls are told to whoever listens (see [`crate::calls`]).

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use deltalake::logstore::object_store::path::Path;
use deltalake::logstore::object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore, ObjectStoreExt,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result, UploadPart,
};
use futures::stream::{self, BoxStream};
use futures::{FutureExt, StreamExt};

use crate::calls::{Calls, Moment, Op};

type Answer<'t, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 't>>;

#[derive(Debug, Clone)]
pub struct Watched {
    inner: Arc<dyn ObjectStore>,
    calls: Calls,
}

impl fmt::Display for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

fn tell(calls: &Calls, moment: Moment, op: Op, what: &Path) -> Result<()> {
    calls.at(moment, op, what.as_ref()).map_err(|source| {
        if source.kind() == std::io::ErrorKind::PermissionDenied {
            return Error::PermissionDenied { path: what.to_string(), source: source.into() };
        }
        Error::Generic { store: "watched", source: source.into() }
    })
}

async fn around<T>(calls: &Calls, op: Op, what: &Path, call: impl Future<Output = Result<T>>) -> Result<T> {
    tell(calls, Moment::Before, op, what)?;
    let done = call.await?;
    tell(calls, Moment::After, op, what)?;
    Ok(done)
}

impl Watched {
    pub fn new(inner: Arc<dyn ObjectStore>, calls: Calls) -> Self {
        Self { inner, calls }
    }
}

// The trait's futures are boxed; this is what its async functions become.
impl ObjectStore for Watched {
    fn put_opts<'life0, 'life1, 'async_trait>(
        &'life0 self,
        location: &'life1 Path,
        payload: PutPayload,
        opts: PutOptions,
    ) -> Answer<'async_trait, PutResult>
    where
        'life0: 'async_trait,
        'life1: 'async_trait,
        Self: 'async_trait,
    {
        Box::pin(around(&self.calls, Op::Put, location, self.inner.put_opts(location, payload, opts)))
    }

    fn put_multipart_opts<'life0, 'life1, 'async_trait>(
        &'life0 self,
        location: &'life1 Path,
        opts: PutMultipartOptions,
    ) -> Answer<'async_trait, Box<dyn MultipartUpload>>
    where
        'life0: 'async_trait,
        'life1: 'async_trait,
        Self: 'async_trait,
    {
        Box::pin(async move {
            let begun = self.inner.put_multipart_opts(location, opts);
            let inner = around(&self.calls, Op::PutBegin, location, begun).await?;
            let upload = WatchedUpload { inner, calls: self.calls.clone(), location: location.clone() };
            Ok(Box::new(upload) as Box<dyn MultipartUpload>)
        })
    }

    fn get_opts<'life0, 'life1, 'async_trait>(
        &'life0 self,
        location: &'life1 Path,
        options: GetOptions,
    ) -> Answer<'async_trait, GetResult>
    where
        'life0: 'async_trait,
        'life1: 'async_trait,
        Self: 'async_trait,
    {
        let op = if options.head { Op::Head } else { Op::Get };
        Box::pin(around(&self.calls, op, location, self.inner.get_opts(location, options)))
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        let (inner, calls) = (Arc::clone(&self.inner), self.calls.clone());
        locations
            .then(move |location| {
                let (inner, calls) = (Arc::clone(&inner), calls.clone());
                async move {
                    let location = location?;
                    around(&calls, Op::Delete, &location, inner.delete(&location)).await?;
                    Ok(location)
                }
            })
            .boxed()
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let (inner, calls) = (Arc::clone(&self.inner), self.calls.clone());
        let prefix = prefix.cloned();
        let what = prefix.clone().unwrap_or_default();
        if let Err(error) = tell(&calls, Moment::Before, Op::List, &what) {
            return stream::once(async { Err(error) }).boxed();
        }
        let end = async move { tell(&calls, Moment::After, Op::List, &what).err().map(Err) };
        let end = stream::once(end).filter_map(|said| async { said });
        inner.list(prefix.as_ref()).chain(end).boxed()
    }

    fn list_with_delimiter<'life0, 'life1, 'async_trait>(
        &'life0 self,
        prefix: Option<&'life1 Path>,
    ) -> Answer<'async_trait, ListResult>
    where
        'life0: 'async_trait,
        'life1: 'async_trait,
        Self: 'async_trait,
    {
        Box::pin(async move {
            let what = prefix.cloned().unwrap_or_default();
            around(&self.calls, Op::List, &what, self.inner.list_with_delimiter(prefix)).await
        })
    }

    fn copy_opts<'life0, 'life1, 'life2, 'async_trait>(
        &'life0 self,
        from: &'life1 Path,
        to: &'life2 Path,
        options: CopyOptions,
    ) -> Answer<'async_trait, ()>
    where
        'life0: 'async_trait,
        'life1: 'async_trait,
        'life2: 'async_trait,
        Self: 'async_trait,
    {
        Box::pin(around(&self.calls, Op::Copy, to, self.inner.copy_opts(from, to, options)))
    }
}

#[derive(Debug)]
struct WatchedUpload {
    inner: Box<dyn MultipartUpload>,
    calls: Calls,
    location: Path,
}

impl MultipartUpload for WatchedUpload {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        let part = self.inner.put_part(data);
        let (calls, location) = (self.calls.clone(), self.location.clone());
        async move { around(&calls, Op::PutPart, &location, part).await }.boxed()
    }

    fn complete<'life0, 'async_trait>(&'life0 mut self) -> Answer<'async_trait, PutResult>
    where
        'life0: 'async_trait,
        Self: 'async_trait,
    {
        Box::pin(around(&self.calls, Op::PutComplete, &self.location, self.inner.complete()))
    }

    fn abort<'life0, 'async_trait>(&'life0 mut self) -> Answer<'async_trait, ()>
    where
        'life0: 'async_trait,
        Self: 'async_trait,
    {
        Box::pin(around(&self.calls, Op::PutAbort, &self.location, self.inner.abort()))
    }
}
