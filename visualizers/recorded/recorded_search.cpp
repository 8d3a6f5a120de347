#include "visualizers/recorded/recorded_search.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/base/error.h"

namespace trainyard {
namespace {

std::int64_t device_of(const RecordedModel& model, std::uint32_t row) {
  const std::uint32_t process = model.trace.threads[model.trace.rows[row].thread].process;
  const int rank = model.trace.processes[process].rank;
  return rank >= 0 ? rank : process;
}

// Kinds in the inks of the word's bits.
unsigned kinds_of(const QueryWord& word) {
  unsigned kinds = 0;
  for (unsigned k = 0; k < kRecordedKinds; ++k) {
    const auto ink = static_cast<unsigned>(ink_of(static_cast<RecordedKind>(k)));
    if ((word.categories >> ink & 1) != 0) kinds |= 1u << k;
  }
  return word.negated ? ~kinds : kinds;
}

}  // namespace

RecordedSearch::RecordedSearch(const RecordedModel& model, const SpanQuery& query)
    : model_(&model), names_(model.trace.names.size(), true) {
  SpanQuery by_name, by_device;
  for (const QueryWord& word : query.words) {
    switch (word.kind) {
      case QueryWord::Kind::Name:
        by_name.words.push_back(word);
        break;
      case QueryWord::Kind::Category:
        kinds_ &= kinds_of(word);
        break;
      case QueryWord::Kind::Device:
        by_device.words.push_back(word);
        break;
      case QueryWord::Kind::Microbatch:
        throw Error(Error::Kind::InvalidInput,
                    "expected what a recording says of a span, found a microbatch; cat:, dev:, a "
                    "name and a length can be looked for",
                    {to_text({{word}})});
      case QueryWord::Kind::Longer:
      case QueryWord::Kind::Shorter: {
        // Not longer than is at most as long, and the other way round.
        const bool at_least = (word.kind == QueryWord::Kind::Longer) != word.negated;
        const bool equal = word.or_equal != word.negated;
        const std::int64_t length = word.length.count();
        if (at_least)
          shortest_ = std::max(shortest_, equal ? length : length + 1);
        else
          longest_ = std::min(longest_, equal ? length : length - 1);
        break;
      }
    }
  }
  SpanFacts facts;
  if (!by_name.words.empty())
    for (std::size_t n = 0; n < names_.size(); ++n) {
      const std::string folded = folded_name(model.trace.names[n]);
      facts.name = folded;
      names_[n] = matches_folded(by_name, facts);
    }
  if (by_device.words.empty()) return;
  for (std::uint32_t row = 0; row < model.spans.rows.size(); ++row) {
    facts.device = device_of(model, row);
    rows_.push_back(matches_folded(by_device, facts));
  }
}

bool RecordedSearch::finds_but_row(std::uint64_t span) const {
  const SpanStore& s = model_->spans;
  const std::int64_t length = s.end[span] - s.start[span];
  return names_[s.name[span]] && (kinds_ >> s.category[span] & 1) != 0 && length >= shortest_ &&
         length <= longest_;
}

bool RecordedSearch::finds(std::uint32_t row, std::uint32_t index) const {
  return (rows_.empty() || rows_[row]) && finds_but_row(model_->spans.rows[row].first + index);
}

template <class F>
void RecordedSearch::each(F&& f) const {
  const std::vector<SpanRow>& rows = model_->spans.rows;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (!rows_.empty() && !rows_[row]) continue;
    const std::uint64_t end = rows[row].first + rows[row].count;
    for (std::uint64_t span = rows[row].first; span < end; ++span)
      if (finds_but_row(span)) f(span);
  }
}

std::uint64_t RecordedSearch::count() const {
  std::uint64_t found = 0;
  each([&](std::uint64_t) { ++found; });
  return found;
}

std::optional<std::uint64_t> RecordedSearch::next(std::optional<std::uint64_t> from,
                                                  bool forwards) const {
  const auto key = [&](std::uint64_t i) { return std::pair(model_->spans.start[i], i); };
  const auto before = [&](std::uint64_t a, std::uint64_t b) {
    return forwards ? key(a) < key(b) : key(b) < key(a);
  };
  // The one nearest after `from`, and the first of all for going around.
  std::optional<std::uint64_t> nearest, first;
  each([&](std::uint64_t i) {
    if (!first || before(i, *first)) first = i;
    if (from && before(*from, i) && (!nearest || before(i, *nearest))) nearest = i;
  });
  return nearest ? nearest : first;
}

}  // namespace trainyard
