//! What the head of an MP4 states of its pictures.

/// Width, height and number of frames.
pub(super) struct Film {
    pub(super) size: (u32, u32),
    pub(super) frames: u32,
}

/// Where the table of samples lies.
const WAY: [&[u8; 4]; 5] = [b"moov", b"trak", b"mdia", b"minf", b"stbl"];

/// Of the first track that has pictures.
pub(super) fn film(file: &[u8]) -> Option<Film> {
    within(file, &WAY).into_iter().find_map(|table| {
        let of = |name: &[u8; 4]| boxes(table).find(|(found, _)| found == name);
        // Version, number of entries, then the first one: its name, and the size of its pictures
        // behind eight bytes of every entry and sixteen of a picture's.
        let (_, coding) = of(b"stsd")?;
        let entry = coding.get(8..)?;
        let side = |at: usize| {
            Some(u32::from(u16::from_be_bytes(
                entry.get(at..at + 2)?.try_into().ok()?,
            )))
        };
        let size = (side(32)?, side(34)?);
        let (_, samples) = of(b"stsz")?;
        let frames = u32::from_be_bytes(samples.get(8..12)?.try_into().ok()?);
        let is_film = size.0 > 0 && size.1 > 0 && frames > 0;
        is_film.then_some(Film { size, frames })
    })
}

/// What lies in all boxes of a way.
fn within<'a>(content: &'a [u8], way: &[&[u8; 4]]) -> Vec<&'a [u8]> {
    let Some((first, rest)) = way.split_first() else {
        return vec![content];
    };
    let inside = boxes(content).filter(|(name, _)| name == *first);
    inside
        .flat_map(|(_, content)| within(content, rest))
        .collect()
}

/// Names and contents of boxes, one after the other, up to the first that is not whole.
fn boxes(mut rest: &[u8]) -> impl Iterator<Item = ([u8; 4], &[u8])> {
    std::iter::from_fn(move || {
        let (head, after) = rest.split_at_checked(8)?;
        let (length, name) = head.split_at(4);
        let length = u32::from_be_bytes(length.try_into().ok()?) as usize;
        let (content, next) = after.split_at_checked(length.checked_sub(8)?)?;
        rest = next;
        Some((name.try_into().ok()?, content))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn atom(name: &[u8; 4], content: &[u8]) -> Vec<u8> {
        let length = content.len() as u32 + 8;
        [&length.to_be_bytes(), name.as_slice(), content].concat()
    }

    fn file(width: u16, frames: u32) -> Vec<u8> {
        let mut entry = vec![0; 86];
        entry[32..34].copy_from_slice(&width.to_be_bytes());
        entry[34..36].copy_from_slice(&48_u16.to_be_bytes());
        let mut table = atom(b"stsd", &[&[0; 8], entry.as_slice()].concat());
        let samples = [0, 0, frames].map(u32::to_be_bytes).concat();
        table.extend(atom(b"stsz", &samples));
        let mut inside = atom(b"stbl", &table);
        for name in [b"minf", b"mdia", b"trak", b"moov"] {
            inside = atom(name, &inside);
        }
        [atom(b"ftyp", b"isom"), inside, atom(b"mdat", b"frames")].concat()
    }

    #[test]
    fn size_and_number_of_frames_are_found_in_their_boxes() {
        let film = film(&file(64, 9)).unwrap();
        assert_eq!((film.size, film.frames), ((64, 48), 9));
    }

    #[test]
    fn what_states_no_pictures_is_no_film() {
        let whole = file(64, 9);
        for bytes in [
            &b""[..],
            b"\x89PNG",
            &whole[13..],
            &whole[..60],
            &file(0, 9),
            &file(64, 0),
        ] {
            assert!(film(bytes).is_none());
        }
    }
}
