#include "core/io/traces/nccl_tests_import.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/io/json/fields.h"

namespace trainyard {
namespace {

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  const char* const blanks = " \t\r";
  while (true) {
    const std::size_t from = line.find_first_not_of(blanks);
    if (from == std::string_view::npos) return words;
    const std::size_t to = std::min(line.find_first_of(blanks, from), line.size());
    words.push_back(line.substr(from, to - from));
    line.remove_prefix(to);
  }
}

std::optional<double> figure(std::string_view word) {
  const auto value = number_of<double>(word);
  return value && std::isfinite(*value) && *value >= 0 ? value : std::nullopt;
}

// Removes the rank that launchers put before each line: "0: ", "12: " (srun -l), "[1,0]<stdout>:"
// (mpirun --tag-output), "[node3:1,0]<stderr>: ". A table never has a colon after its first word.
std::string_view without_rank(std::string_view text) {
  const std::size_t from = text.find_first_not_of(" \t");
  if (from == std::string_view::npos) return text;
  text.remove_prefix(from);
  const std::size_t digits = text.find_first_not_of("0123456789");
  if (digits != std::string_view::npos && digits > 0 && text[digits] == ':')
    return text.substr(digits + 1);
  if (!text.starts_with('[')) return text;
  for (const std::string_view stream : {"]<stdout>:", "]<stderr>:"})
    if (const std::size_t end = text.find(stream); end != std::string_view::npos)
      return text.substr(end + stream.size());
  return text;
}

class TableReader {
 public:
  explicit TableReader(const std::string& source) { table_.source = source; }

  void line(std::string_view text, std::int64_t number_of) {
    number_ = number_of;
    text = without_rank(text);
    const std::size_t hash = text.find_first_not_of(" \t");
    if (hash != std::string_view::npos && text[hash] == '#') return comment(text.substr(hash + 1));
    const auto words = words_of(text);
    const bool row = words.size() >= 11 && figure(words[0]) && figure(words[1]);
    if (row) take_row(words);
  }

  NcclTable done() {
    if (table_.rows.empty())
      throw Error(Error::Kind::InvalidInput,
                  "expected the table of an nccl-tests run (size, count, type, redop, root, time, "
                  "algbw, busbw), found no row of it",
                  {table_.source});
    if (table_.ranks == 0) table_.ranks = ranks_;
    return std::move(table_);
  }

 private:
  [[noreturn]] void refuse(const std::string& sentence) const {
    throw Error(Error::Kind::InvalidInput, sentence,
                {table_.source + ":" + std::to_string(number_)});
  }

  void comment(std::string_view text) {
    const auto words = words_of(text);
    // This matches "# nThread 1 nGpus 8 ...", "#  Rank  3 Group  0 Pid ...", "# Collective test
    // starting: all_reduce_perf".
    if (words.size() >= 2 && words[0] == "Rank" && figure(words[1]))
      ranks_ = std::max(ranks_, static_cast<std::int64_t>(std::min(1e6, *figure(words[1]))) + 1);
    for (const std::string_view word : words) {
      const std::size_t end = word.find("_perf");
      if (end == std::string_view::npos) continue;
      const std::size_t slash = word.substr(0, end).rfind('/');
      table_.collective = word.substr(slash == std::string_view::npos ? 0 : slash + 1,
                                      end - (slash == std::string_view::npos ? 0 : slash + 1));
    }
  }

  // The columns are size count type redop root | time algbw busbw #wrong | time algbw busbw #wrong.
  // Older outputs lack root; where the first number after the type is tells them apart.
  void take_row(const std::vector<std::string_view>& words) {
    std::size_t first = 3;
    while (first < words.size() && !(figure(words[first]) && words.size() - first <= 8)) ++first;
    if (words.size() - first != 8 && words.size() - first != 6)
      refuse("expected time, algbw, busbw and errors twice, found " + std::to_string(words.size()) +
             " words");
    const std::size_t second = first + (words.size() - first) / 2;
    NcclRow row;
    const double bytes = figure(words[0]).value_or(0);
    if (bytes > 1e15) refuse("expected a size of a message, found " + std::string(words[0]));
    row.bytes = {static_cast<std::int64_t>(bytes)};
    row.type = words[2];
    row.line = number_;
    row.out_of_place = timing(words, first, bytes);
    row.in_place = timing(words, second, bytes);
    table_.rows.push_back(std::move(row));
  }

  NcclTiming timing(const std::vector<std::string_view>& words, std::size_t at, double bytes) {
    std::array<double, 3> values{};
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto value = figure(words[at + i]);
      if (!value)
        refuse("expected a number, found \"" + std::string(words[at + i].substr(0, 40)) + "\"");
      values[i] = *value;
    }
    const double us = values[0];
    if (us > 1e12) refuse("expected a time in microseconds, found one of days");
    // The bandwidth is printed with two decimals; a larger difference means that another column was
    // read as the time.
    const double printed = values[1], exact = us > 0 ? bytes / us / 1000 : 0;
    if (us > 0 && std::abs(printed - exact) > 0.011 + 0.02 * exact)
      refuse("expected an algbw of " + std::to_string(exact) +
             " GB/s for that size and time, found " + std::string(words[at + 1]));
    return {seconds(us * 1e-6), {values[1] * 1e9}, {values[2] * 1e9}};
  }

  NcclTable table_;
  std::int64_t ranks_ = 0, number_ = 0;
};

double factor_of(const std::string& collective, std::int64_t ranks) {
  const auto n = static_cast<double>(ranks);
  if (collective == "all_reduce") return 2 * (n - 1) / n;
  if (collective == "all_gather" || collective == "reduce_scatter" || collective == "alltoall")
    return (n - 1) / n;
  return 1;
}

// The factor is taken from the largest rows, where the printed digits are most precise.
double printed_factor(const NcclTable& table) {
  double best = 1, most = 0;
  for (const NcclRow& row : table.rows)
    for (const NcclTiming& t : {row.out_of_place, row.in_place})
      if (t.algorithm.value > most)
        most = t.algorithm.value, best = t.bus.value / t.algorithm.value;
  return best > 0 ? best : 1;
}

struct FittedLine {
  double start = 0, per_byte = 0;
};

// Points are weighted by one over the measured time, so that small messages determine the start and
// large ones the rate.
FittedLine fit(const std::vector<LinkResidual>& points, std::size_t skip_from,
               std::size_t skip_every) {
  double sw = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (skip_every > 0 && i % skip_every == skip_from) continue;
    const double y = to_seconds(points[i].measured), x = static_cast<double>(points[i].bytes.value);
    const double w = 1 / (y * y);
    sw += w, sx += w * x, sy += w * y, sxx += w * x * x, sxy += w * x * y;
  }
  const double d = sw * sxx - sx * sx;
  FittedLine line;
  line.per_byte = d > 0 ? (sw * sxy - sx * sy) / d : 0;
  line.start = sw > 0 ? (sy - line.per_byte * sx) / sw : 0;
  // Neither the start nor the time per byte can be negative.
  if (line.start < 0) line = {0, sxx > 0 ? sxy / sxx : 0};
  if (line.per_byte < 0) line = {sw > 0 ? sy / sw : 0, 0};
  return line;
}

Duration at(const FittedLine& line, Bytes bytes) {
  return seconds(line.start + line.per_byte * static_cast<double>(bytes.value));
}

double median(std::vector<double> list) {
  if (list.empty()) return 0;
  std::nth_element(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(list.size() / 2),
                   list.end());
  return list[list.size() / 2];
}

double held_out(const std::vector<LinkResidual>& points) {
  std::vector<double> errors;
  for (const std::size_t part : {0, 1}) {
    const FittedLine line = fit(points, part, 2);
    for (std::size_t i = part; i < points.size(); i += 2)
      errors.push_back(
          std::abs(to_seconds(at(line, points[i].bytes)) / to_seconds(points[i].measured) - 1));
  }
  return median(std::move(errors));
}

}  // namespace

NcclTable parse_nccl_tests(std::string_view text, const std::string& source) {
  TableReader reader(source);
  for (std::int64_t line = 1; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    reader.line(text.substr(0, end), line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return reader.done();
}

double LinkResidual::error() const {
  return measured.count() > 0 ? to_seconds(fitted) / to_seconds(measured) - 1 : 0;
}

LinkFit fit_links(const NcclTable& table) {
  LinkFit fitted;
  fitted.collective = table.collective;
  fitted.ranks = table.ranks;
  fitted.bus_factor = !table.collective.empty() && table.ranks > 1
                          ? factor_of(table.collective, table.ranks)
                          : printed_factor(table);
  for (const NcclRow& row : table.rows)
    for (const bool in_place : {false, true}) {
      const NcclTiming& timing = in_place ? row.in_place : row.out_of_place;
      if (row.bytes.value > 0 && timing.time.count() > 0)
        fitted.residuals.push_back({row.bytes, timing.time, {}, in_place});
    }
  const bool several =
      std::any_of(fitted.residuals.begin(), fitted.residuals.end(),
                  [&](const LinkResidual& r) { return r.bytes != fitted.residuals.front().bytes; });
  if (!several)
    throw Error(Error::Kind::InvalidInput,
                "expected at least two sizes to fit a link to, found fewer", {table.source});
  const FittedLine line = fit(fitted.residuals, 0, 0);
  fitted.start = seconds(line.start);
  fitted.bandwidth = {line.per_byte > 0 ? fitted.bus_factor / line.per_byte : 0};
  std::vector<double> errors;
  for (LinkResidual& r : fitted.residuals) {
    r.fitted = at(line, r.bytes);
    errors.push_back(std::abs(r.error()));
  }
  fitted.worst_error = *std::max_element(errors.begin(), errors.end());
  fitted.median_error = median(errors);
  fitted.held_out = held_out(fitted.residuals);
  return fitted;
}

namespace {

struct LinkSheet {
  const NcclTable& table;
  const LinkFit& fit;
};

Fields<LinkResidual> link_residual_fields() {
  return {{"bytes", &LinkResidual::bytes},
          {"in_place", &LinkResidual::in_place},
          {"measured_seconds", &LinkResidual::measured},
          {"fitted_seconds", &LinkResidual::fitted},
          {"error", &LinkResidual::error}};
}

Fields<LinkSheet> link_fields() {
  const auto of = [](auto member) {
    return [member](const LinkSheet& sheet) -> const auto& { return sheet.fit.*member; };
  };
  return document_fields<LinkSheet>(
      "trainyard/links",
      {{"source", [](const LinkSheet& sheet) { return sheet.table.source; }},
       {"collective", of(&LinkFit::collective), kWhereSet},
       {"ranks", of(&LinkFit::ranks), whole(1), kWhereSet},
       {"bus_factor", of(&LinkFit::bus_factor), "busbw over algbw"},
       {"start_seconds", of(&LinkFit::start), number()},
       {"bus_bytes_per_second", of(&LinkFit::bandwidth)},
       {"median_error", of(&LinkFit::median_error), "of |fitted / measured - 1|"},
       {"worst_error", of(&LinkFit::worst_error)},
       {"held_out_error", of(&LinkFit::held_out), "median, of rows that the fit has not seen"},
       {"rows", of(&LinkFit::residuals), list_of(object(link_residual_fields()))}});
}

}  // namespace

std::vector<ExchangeTiming> exchanges_of(const NcclTable& table) {
  constexpr std::pair<std::string_view, std::optional<CollectiveKind>> kKinds[] = {
      {"all_reduce", CollectiveKind::AllReduce},
      {"all_gather", CollectiveKind::AllGather},
      {"reduce_scatter", CollectiveKind::ReduceScatter},
      {"alltoall", CollectiveKind::AllToAll},
      {"broadcast", CollectiveKind::Broadcast},
      {"reduce", CollectiveKind::Reduce},
      {"gather", CollectiveKind::Gather},
      {"scatter", CollectiveKind::Scatter},
      {"sendrecv", std::nullopt}};
  const auto* kind = std::find_if(std::begin(kKinds), std::end(kKinds), [&](const auto& known) {
    return known.first == table.collective;
  });
  if (kind == std::end(kKinds) || table.ranks < 2)
    throw Error(
        Error::Kind::InvalidInput,
        fmt::format("expected the output of all_reduce_perf, all_gather_perf, "
                    "reduce_scatter_perf, alltoall_perf, broadcast_perf, reduce_perf, gather_perf, "
                    "scatter_perf or sendrecv_perf on "
                    "at least two ranks, found {} of {}",
                    table.collective.empty() ? "a table of no named collective"
                                             : table.collective + "_perf",
                    table.ranks),
        {table.source});
  std::vector<ExchangeTiming> list;
  for (const NcclRow& row : table.rows)
    if (row.bytes.value > 0 && row.out_of_place.time > Duration{})
      list.push_back(
          {kind->second, kind->second ? table.ranks : 2, row.bytes, row.out_of_place.time});
  return list;
}

Json links_schema() { return link_fields().schema(); }

std::string links_document(const NcclTable& table, const LinkFit& fitted) {
  return write_json(link_fields().write({table, fitted}));
}

}  // namespace trainyard
