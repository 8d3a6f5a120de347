#include "core/memory/arena_skyline.h"

#include <algorithm>

namespace trainyard {

ArenaSkyline::ArenaSkyline(const ArenaPart& part, std::int64_t capacity)
    : capacity_(capacity), first_touched_(part.sections) {
  sections_.resize(at(part.sections));
  over_.resize(sections_.size());
  begin_.resize(sections_.size());
  touched_.resize(sections_.size());
  for (const Lifetime& b : part.buffers) {
    const int index = static_cast<int>(buffers_.size());
    buffers_.push_back(
        {.from = static_cast<int>(b.from), .to = static_cast<int>(b.to), .size = b.bytes.value});
    begin_[at(from(index))].push_back(index);
    for (int s = from(index); s < to(index); ++s) {
      sections_[at(s)].rest += b.bytes.value;
      over_[at(s)].push_back(index);
    }
  }
  touch(0, part.sections);
}

void ArenaSkyline::keep(int section) {
  const Section& s = sections_[at(section)];
  trail_.push_back({Change::What::Section, section, s.floor, s.top, s.lowest_end});
}

void ArenaSkyline::touch(int from, int to) {
  std::fill(touched_.begin() + from, touched_.begin() + to, 1);
  first_touched_ = std::min(first_touched_, from);
  end_touched_ = std::max(end_touched_, to);
}

void ArenaSkyline::place(int buffer, std::int64_t offset) {
  Buffer& b = buffers_[at(buffer)];
  b.placed = true;
  b.offset = offset;
  for (int s = b.from; s < b.to; ++s) {
    Section& section = sections_[at(s)];
    keep(s);
    section.floor = section.top = offset + b.size;
    section.rest -= b.size;
  }
  trail_.push_back({Change::What::Placed, buffer, 0, 0, 0});
  touch(b.from, b.to);
}

void ArenaSkyline::raise(int section, std::int64_t floor) {
  keep(section);
  sections_[at(section)].floor = floor;
  touch(section, section + 1);
}

void ArenaSkyline::back_to(Mark mark) {
  for (; trail_.size() > mark; trail_.pop_back()) {
    const Change& change = trail_.back();
    if (change.what == Change::What::Section) {
      sections_[at(change.index)].floor = change.floor;
      sections_[at(change.index)].top = change.top;
      sections_[at(change.index)].lowest_end = change.lowest_end;
      continue;
    }
    Buffer& b = buffers_[at(change.index)];
    if (change.what == Change::What::Least) {
      b.least = change.floor;
      continue;
    }
    b.placed = false;
    for (int s = b.from; s < b.to; ++s) sections_[at(s)].rest += b.size;
  }
  // What was inferred before the mark remains valid, and nothing new follows from it.
  if (first_touched_ < end_touched_)
    std::fill(touched_.begin() + first_touched_, touched_.begin() + end_touched_, 0);
  first_touched_ = static_cast<int>(touched_.size());
  end_touched_ = 0;
}

bool ArenaSkyline::raise_least(Buffer& b, std::int64_t least) {
  const std::int64_t before = b.least;
  trail_.push_back({Change::What::Least, static_cast<int>(&b - buffers_.data()), before, 0, 0});
  b.least = least;
  if (least > capacity_ - b.size) return false;
  for (int s = b.from; s < b.to; ++s) {
    const Section& section = sections_[at(s)];
    const std::int64_t last = capacity_ - section.rest;
    const bool was_lowest = before <= section.floor && least > section.floor;
    const bool could_be_lowest =
        before <= last &&
        (least > last || std::max(before, section.floor) + b.size <= section.lowest_end);
    if (was_lowest || could_be_lowest) touch(s, s + 1);
  }
  return true;
}

// A section stays empty up to the lowest offset that any of its buffers can have, and must then
// have room for all of them. A buffer lies above the floor. Where it would leave the others too
// little room as the lowest, it lies above a buffer that can be the lowest.
bool ArenaSkyline::infer_section(int index) {
  Section& section = sections_[at(index)];
  if (section.rest == 0) return true;
  const std::vector<int>& over = over_[at(index)];
  const std::int64_t last = capacity_ - section.rest;  // highest offset that the lowest buffer can
                                                       // have
  std::int64_t lowest = kNever, above_lowest = kNever;
  for (const int i : over) {
    const Buffer& b = buffers_[at(i)];
    if (b.placed) continue;
    const std::int64_t least = std::max(b.least, section.floor);
    lowest = std::min(lowest, least);
    if (least <= last) above_lowest = std::min(above_lowest, least + b.size);
  }
  if (lowest > last) return false;
  if (lowest > section.floor || above_lowest != section.lowest_end) {
    keep(index);
    section.floor = std::max(section.floor, lowest);
    section.lowest_end = above_lowest;
  }
  for (const int i : over) {
    Buffer& b = buffers_[at(i)];
    if (b.placed) continue;
    std::int64_t least = std::max(b.least, section.floor);
    if (least > last) least = std::max(least, above_lowest);
    if (least > b.least && !raise_least(b, least)) return false;
  }
  return true;
}

bool ArenaSkyline::infer() {
  while (first_touched_ < end_touched_) {
    const int from = first_touched_, to = end_touched_;
    first_touched_ = static_cast<int>(touched_.size());
    end_touched_ = 0;
    for (int s = from; s < to; ++s) {
      if (touched_[at(s)] == 0) continue;
      touched_[at(s)] = 0;
      if (infer_section(s)) continue;
      touch(from, to);  // so that back_to() restores all of them
      return false;
    }
  }
  return true;
}

}  // namespace trainyard
