//! HTTP/1.1 as a client, one request at a time: requests as bytes, and responses whose body is delimited by its length, by
//! chunks, or by the end of the connection.

use memchr::memmem;

/// A response with more headers is refused.
const MOST_HEADERS: usize = 64;

/// A longer head is refused.
const LONGEST_HEAD: usize = 64 << 10;

/// A response, and how many bytes it took.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct HttpResponse<'a> {
    pub(crate) status: u16,
    pub(crate) body: &'a [u8],
    /// Whether the connection can be used again.
    pub(crate) keeps: bool,
    pub(crate) used: usize,
}

/// How the body is delimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Body {
    Length(usize),
    Chunks,
    UntilEnd,
}

/// The responses of one connection.
pub(crate) struct Http {
    max_size: usize,
    /// A body of chunks, put together.
    body: Vec<u8>,
}

impl Http {
    pub(crate) fn new(max_size: usize) -> Http {
        Http { max_size, body: Vec::new() }
    }

    /// Appends a request. `head` ends with the line before `Content-Length`.
    pub(crate) fn request(out: &mut Vec<u8>, head: &[u8], body: &[u8]) {
        out.extend_from_slice(head);
        out.extend_from_slice(b"Content-Length: ");
        out.extend_from_slice(itoa::Buffer::new().format(body.len()).as_bytes());
        out.extend_from_slice(b"\r\n\r\n");
        out.extend_from_slice(body);
    }

    /// The response, if it is complete. `at_end` is whether no more bytes will come.
    pub(crate) fn response<'a>(
        &'a mut self,
        bytes: &'a [u8],
        at_end: bool,
    ) -> Result<Option<HttpResponse<'a>>, String> {
        let mut start = 0;
        loop {
            let bytes = &bytes[start..];
            let Some(end) = memmem::find(bytes, b"\r\n\r\n") else {
                return match bytes.len() > LONGEST_HEAD {
                    true => Err("the head of the response is too long".to_owned()),
                    false => Ok(None),
                };
            };
            let end = end + 4;
            let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
            let mut head = httparse::Response::new(&mut headers);
            head.parse(&bytes[..end]).map_err(|error| format!("the response is not valid HTTP: {error}"))?;
            let status = head.code.unwrap_or_default();
            // One that is only a step on the way, such as `100 Continue`.
            if (100..200).contains(&status) {
                start += end;
                continue;
            }
            let (delimited, keeps) = delimiter(&head, status)?;
            let keeps = keeps && delimited != Body::UntilEnd;
            let rest = &bytes[end..];
            let (body, used) = match delimited {
                Body::Length(length) if length > self.max_size => return Err(self.too_large()),
                Body::Length(length) => match rest.get(..length) {
                    Some(body) => (body, length),
                    None => return Ok(None),
                },
                Body::UntilEnd if rest.len() > self.max_size => return Err(self.too_large()),
                Body::UntilEnd if at_end => (rest, rest.len()),
                Body::UntilEnd => return Ok(None),
                Body::Chunks => {
                    self.body.clear();
                    match chunks(rest, &mut self.body, self.max_size) {
                        Ok(Some(used)) => (&self.body[..], used),
                        Ok(None) if rest.len() / 2 > self.max_size => return Err(self.too_large()),
                        Ok(None) => return Ok(None),
                        Err(()) => return Err("the chunks of the response are not valid".to_owned()),
                    }
                }
            };
            return Ok(Some(HttpResponse { status, body, keeps, used: start + end + used }));
        }
    }

    fn too_large(&self) -> String {
        format!("the response is larger than {} bytes", self.max_size)
    }
}

fn delimiter(head: &httparse::Response<'_, '_>, status: u16) -> Result<(Body, bool), String> {
    let mut length = None;
    let mut is_chunked = false;
    let mut keeps = head.version == Some(1);
    for header in head.headers.iter() {
        let value = header.value.trim_ascii();
        if header.name.eq_ignore_ascii_case("content-length") {
            let number = std::str::from_utf8(value).ok().and_then(|text| text.parse::<usize>().ok());
            let number = number.ok_or("the response has an invalid Content-Length")?;
            if length.is_some_and(|other| other != number) {
                return Err("the response has two lengths".to_owned());
            }
            length = Some(number);
        } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
            is_chunked = value.len() >= 7 && value[value.len() - 7..].eq_ignore_ascii_case(b"chunked");
        } else if header.name.eq_ignore_ascii_case("connection") {
            keeps = match value {
                value if value.eq_ignore_ascii_case(b"close") => false,
                value if value.eq_ignore_ascii_case(b"keep-alive") => true,
                _ => keeps,
            };
        }
    }
    let body = match (status, is_chunked, length) {
        (204 | 304, _, _) => Body::Length(0),
        (_, true, _) => Body::Chunks,
        (_, false, Some(length)) => Body::Length(length),
        (_, false, None) => Body::UntilEnd,
    };
    Ok((body, keeps))
}

/// Puts chunks together. How many bytes they take, if they are complete.
fn chunks(bytes: &[u8], into: &mut Vec<u8>, most: usize) -> Result<Option<usize>, ()> {
    let mut at = 0;
    loop {
        let rest = &bytes[at..];
        let (used, length) = match httparse::parse_chunk_size(rest) {
            Ok(httparse::Status::Complete((used, length))) => (used, length),
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(_) => return Err(()),
        };
        let length = usize::try_from(length).ok().filter(|length| *length <= most).ok_or(())?;
        if length == 0 {
            // Trailers, if there are any, end with an empty line as well.
            let trailers = &rest[used..];
            return match trailers.starts_with(b"\r\n") {
                true => Ok(Some(at + used + 2)),
                false => Ok(memmem::find(trailers, b"\r\n\r\n").map(|end| at + used + end + 4)),
            };
        }
        let Some(chunk) = rest.get(used..used + length + 2) else { return Ok(None) };
        if !chunk.ends_with(b"\r\n") || into.len() + length > most {
            return Err(());
        }
        into.extend_from_slice(&chunk[..length]);
        at += used + length + 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a response comes to, wherever its bytes are split.
    fn check(wire: &str, at_end: bool, want: Result<Option<(u16, &str, bool, usize)>, ()>) {
        let wire = wire.as_bytes();
        let mut http = Http::new(100);
        let got = http.response(wire, at_end).map_err(drop).map(|response| {
            let response = response?;
            let body = String::from_utf8_lossy(response.body).into_owned();
            Some((response.status, body, response.keeps, response.used))
        });
        let want =
            want.map(|want| want.map(|(status, body, keeps, used)| (status, body.to_owned(), keeps, used)));
        assert_eq!(got, want, "{}", String::from_utf8_lossy(wire));
        if let Ok(Some((.., used))) = got {
            for split in 0..used {
                let part = Http::new(100).response(&wire[..split], false).map(|response| response.is_some());
                assert_eq!(part, Ok(false), "split at {split}: {}", String::from_utf8_lossy(wire));
            }
        }
    }

    #[test]
    fn responses_end_where_they_say() {
        check("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhiHTTP", false, Ok(Some((200, "hi", true, 40))));
        check("HTTP/1.1 204 No\r\n\r\n", false, Ok(Some((204, "", true, 19))));
        check(
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi",
            false,
            Ok(Some((200, "hi", false, 59))),
        );
        check("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi", false, Ok(Some((200, "hi", false, 40))));
        check(
            "HTTP/1.1 100 Go\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nh\r\n1\r\ni\r\n0\r\n\r\n",
            false,
            Ok(Some((200, "hi", true, 83))),
        );
        check(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nh\r\n0\r\nX: y\r\n\r\n",
            false,
            Ok(Some((200, "h", true, 64))),
        );
        check("HTTP/1.1 200 OK\r\n\r\nall of it", false, Ok(None));
        assert_eq!(
            Http::new(100)
                .response(b"HTTP/1.1 200 OK\r\n\r\nall", true)
                .map(|r| r.map(|r| (r.body.to_vec(), r.keeps))),
            Ok(Some((b"all".to_vec(), false)))
        );
    }

    #[test]
    fn hostile_responses_are_refused() {
        for wire in [
            "HTTP/1.1 200 OK\r\nContent-Length: 101\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffff\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nxyz\r\n",
            "ICY 200 OK\r\n\r\n",
        ] {
            check(wire, false, Err(()));
        }
    }
}
