//! This file knows keys by hash, and in the order of their last use.
//!
//! A ring of places in a `Vec`, linked by their positions, beside a hash index of them: finding a
//! key, using it and dropping the oldest cost the same however many there are.

use core::hash::{BuildHasher, Hash};

use hashbrown::{Equivalent, HashTable};

use crate::sync::Hashing;

/// Values by key, from the least to the most recently used.
#[derive(Debug)]
pub(super) struct Recency<K, V> {
    ring: Vec<Place<K, V>>,
    index: HashTable<usize>,
    free: Vec<usize>,
    hashing: Hashing,
}

#[derive(Debug)]
struct Place<K, V> {
    older: usize,
    newer: usize,
    /// `None` in the head of the ring, and in free places.
    kept: Option<(K, V)>,
}

impl<K: Eq + Hash, V> Recency<K, V> {
    pub(super) fn new() -> Self {
        Self {
            ring: vec![Place { older: HEAD, newer: HEAD, kept: None }],
            index: HashTable::new(),
            free: Vec::new(),
            hashing: Hashing::default(),
        }
    }

    /// Adds a key that is not there yet, as the most recently used.
    pub(super) fn insert(&mut self, key: K, value: V) {
        let hash = self.hashing.hash_one(&key);
        let place = Place { older: HEAD, newer: HEAD, kept: Some((key, value)) };
        let at = match self.free.pop() {
            Some(at) => {
                self.ring[at] = place;
                at
            }
            None => {
                self.ring.push(place);
                self.ring.len() - 1
            }
        };
        self.link(at);
        let Self { ring, hashing, .. } = self;
        self.index.insert_unique(hash, at, |at| hash_of(ring, hashing, *at));
    }

    /// Makes it the most recently used.
    pub(super) fn touch(&mut self, at: usize) -> Option<&mut V> {
        self.unlink(at);
        self.link(at);
        self.ring[at].kept.as_mut().map(|(_, value)| value)
    }

    pub(super) fn remove(&mut self, at: usize) {
        let hash = hash_of(&self.ring, &self.hashing, at);
        if let Ok(entry) = self.index.find_entry(hash, |other| *other == at) {
            entry.remove();
            self.unlink(at);
            self.ring[at].kept = None;
            self.free.push(at);
        }
    }

    /// Where `key` is.
    pub(super) fn find<Q: Hash + Equivalent<K> + ?Sized>(&self, key: &Q) -> Option<usize> {
        let is_key = |at: &usize| matches!(&self.ring[*at].kept, Some((k, _)) if key.equivalent(k));
        self.index.find(self.hashing.hash_one(key), is_key).copied()
    }

    pub(super) fn get(&self, at: usize) -> Option<&V> {
        self.ring[at].kept.as_ref().map(|(_, value)| value)
    }

    /// Where the least recently used is.
    pub(super) fn oldest(&self) -> Option<usize> {
        self.after(HEAD)
    }

    /// Where the one used next after it is.
    pub(super) fn after(&self, at: usize) -> Option<usize> {
        Some(self.ring[at].newer).filter(|newer| *newer != HEAD)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &(K, V)> {
        self.ring.iter().filter_map(|place| place.kept.as_ref())
    }

    pub(super) fn len(&self) -> usize {
        self.index.len()
    }

    fn link(&mut self, at: usize) {
        let newest = self.ring[HEAD].older;
        self.ring[at].older = newest;
        self.ring[at].newer = HEAD;
        self.ring[newest].newer = at;
        self.ring[HEAD].older = at;
    }

    fn unlink(&mut self, at: usize) {
        let Place { older, newer, .. } = self.ring[at];
        self.ring[older].newer = newer;
        self.ring[newer].older = older;
    }
}

fn hash_of<K: Hash, V>(ring: &[Place<K, V>], hashing: &Hashing, at: usize) -> u64 {
    ring[at].kept.as_ref().map_or(0, |(key, _)| hashing.hash_one(key))
}

/// The place before the oldest and after the newest.
const HEAD: usize = 0;
