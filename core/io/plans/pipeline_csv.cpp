#include "core/io/plans/pipeline_csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <set>
#include <vector>

#include "core/base/error.h"
#include "core/base/trimmed.h"
#include "core/program/action_index.h"

namespace trainyard {
namespace {

constexpr std::array<std::string_view, 7> kCommunication = {
    "UNSHARD", "RESHARD", "REDUCE_GRAD", "SEND_F", "RECV_F", "SEND_B", "RECV_B"};
constexpr std::string_view kOverlap = "OVERLAP_F_B";
constexpr std::size_t kMostRanks = 100'000;
constexpr std::int32_t kMostNumber = 1 << 24;  // largest number of a stage or microbatch

// "BW" is kept separate until it is known which letters the file uses.
struct Cell {
  Action action;
  bool both = false;
};

class CsvReader {
 public:
  CsvReader(std::string_view text, const std::string& source) : text_(text), source_(source) {}

  PipelineCsv run() {
    while (!text_.empty() && trimmed(text_).size() > 0) read_row();
    if (rows_.empty()) refuse("expected one row a rank, found nothing");
    settle_letters();
    for (std::size_t rank = 0; rank < rows_.size(); ++rank) {
      Lane lane{{static_cast<std::uint32_t>(rank)}, "compute"};
      for (const Cell& cell : rows_[rank]) {
        lane.actions.push_back(cell.action);
        found_.stages = std::max(found_.stages, static_cast<int>(cell.action.stage.value) + 1);
        found_.microbatches = std::max(found_.microbatches, cell.action.microbatch + 1);
      }
      found_.order.lanes.push_back(std::move(lane));
    }
    return std::move(found_);
  }

 private:
  [[noreturn]] void refuse(const std::string& message) const {
    std::string place = source_;
    if (row_ > 0) place += fmt::format(":{}", row_);
    if (cell_ > 0) place += fmt::format(":{}", cell_);
    throw Error(Error::Kind::InvalidInput, message, {place});
  }

  void read_row() {
    const std::size_t end = std::min(text_.find('\n'), text_.size());
    std::string_view line = text_.substr(0, end);
    text_.remove_prefix(std::min(text_.size(), end + 1));
    ++row_, cell_ = 0;
    if (rows_.size() == kMostRanks) refuse("expected at most 100000 ranks");
    if (trimmed(line).empty()) refuse("expected the cells of a rank, found an empty line");
    rows_.emplace_back();
    for (bool more = true; more;) {
      const std::size_t comma = line.find(',');
      ++cell_;
      read_cell(trimmed(line.substr(0, comma)));
      more = comma != std::string_view::npos;
      if (more) line.remove_prefix(comma + 1);
    }
  }

  void read_cell(std::string_view cell) {
    if (cell.size() >= 2 && cell.front() == '"' && cell.back() == '"')
      cell = trimmed(cell.substr(1, cell.size() - 2));
    if (cell.empty()) return;
    if (cell.front() == '(') return read_pair(cell);
    read_action(cell);
  }

  // Reads "(0F7;7B3)OVERLAP_F_B".
  void read_pair(std::string_view cell) {
    const std::size_t close = cell.find(')');
    if (close == std::string_view::npos || cell.substr(close + 1) != kOverlap)
      refuse(fmt::format("expected a pair such as (0F7;7B3)OVERLAP_F_B, found \"{}\"",
                         cell.substr(0, 60)));
    std::string_view inside = cell.substr(1, close - 1);
    const std::size_t before = rows_.back().size();
    int actions = 0;
    for (bool more = true; more; ++actions) {
      const std::size_t semicolon = inside.find(';');
      read_action(trimmed(inside.substr(0, semicolon)));
      more = semicolon != std::string_view::npos;
      if (more) inside.remove_prefix(semicolon + 1);
    }
    if (actions < 2) refuse(fmt::format("expected two actions in \"{}\"", cell.substr(0, 60)));
    std::vector<Cell>& row = rows_.back();
    if (row.size() == before + 2 && can_pair(row[before].action, row[before + 1].action))
      row.back().action.paired = true;
    else
      ++found_.in_turn;
  }

  static bool can_pair(const Action& a, const Action& b) {
    const auto backward = [](const Action& x) {
      return x.phase == Phase::Backward || x.phase == Phase::BackwardInput;
    };
    const bool kinds =
        (a.phase == Phase::Forward && backward(b)) || (backward(a) && b.phase == Phase::Forward);
    return kinds && (a.stage != b.stage || a.microbatch != b.microbatch);
  }

  void read_action(std::string_view cell) {
    std::string_view rest = cell;
    const std::int32_t stage = number(rest, cell);
    const std::size_t letters = std::min(rest.find_first_of("0123456789"), rest.size());
    const std::string_view word = rest.substr(0, letters);
    rest.remove_prefix(letters);
    if (std::find(kCommunication.begin(), kCommunication.end(), word) != kCommunication.end()) {
      if (!rest.empty()) number(rest, cell);
      if (!rest.empty()) refuse_cell(cell);
      ++found_.left_out;
      return;
    }
    Cell made;
    made.action.stage.value = static_cast<std::uint32_t>(stage);
    if (word == "F")
      made.action.phase = Phase::Forward;
    else if (word == "B" || word == "BW")
      made.action.phase = Phase::Backward, made.both = word == "BW";
    else if (word == "I")
      made.action.phase = Phase::BackwardInput;
    else if (word == "W")
      made.action.phase = Phase::BackwardWeight;
    else
      refuse_cell(cell);
    made.action.microbatch = number(rest, cell);
    if (!rest.empty()) refuse_cell(cell);
    rows_.back().push_back(made);
  }

  std::int32_t number(std::string_view& rest, std::string_view cell) const {
    std::int32_t value = 0;
    const auto [stop, failure] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    if (failure != std::errc() || rest.front() == '-' || value >= kMostNumber) refuse_cell(cell);
    rest.remove_prefix(static_cast<std::size_t>(stop - rest.data()));
    return value;
  }

  [[noreturn]] void refuse_cell(std::string_view cell) const {
    refuse(fmt::format("expected an action such as 2F0, 2I0, 2W0, 2B0 or 2SEND_F0, found \"{}\"",
                       cell.substr(0, 60)));
  }

  // Older files have no "I": there "B" is a backward for inputs wherever a "W" follows it, and "BW"
  // is both. A file with a "BW", or with a "W" and no "I", uses those letters.
  void settle_letters() {
    bool both = false, inputs = false;
    std::set<std::pair<std::uint32_t, std::int32_t>> weights;
    for (const auto& row : rows_)
      for (const Cell& cell : row) {
        both = both || cell.both;
        inputs = inputs || cell.action.phase == Phase::BackwardInput;
        if (cell.action.phase == Phase::BackwardWeight)
          weights.insert({cell.action.stage.value, cell.action.microbatch});
      }
    found_.older = both || (!weights.empty() && !inputs);
    if (!found_.older) return;
    row_ = cell_ = 0;
    if (both && inputs) refuse("\"BW\" and \"I\" are of different releases of PyTorch");
    for (auto& row : rows_)
      for (Cell& cell : row)
        if (cell.action.phase == Phase::Backward && !cell.both &&
            weights.count({cell.action.stage.value, cell.action.microbatch}) > 0)
          cell.action.phase = Phase::BackwardInput;
  }

  std::string_view text_;
  const std::string& source_;
  std::size_t row_ = 0, cell_ = 0;  // from 1; 0: the whole file
  std::vector<std::vector<Cell>> rows_;
  PipelineCsv found_;
};

[[noreturn]] void cannot(const std::string& what) {
  throw Error(Error::Kind::Unsupported, "PyTorch's pipeline CSV cannot say it: " + what);
}

// Returns the lane of each rank; refuses what a row per rank cannot express.
std::vector<std::size_t> lanes_of_ranks(const Order& order) {
  if (!order.precedences.empty()) cannot("the order has precedences of its own");
  std::map<std::uint32_t, std::size_t> lanes;
  std::map<std::uint32_t, std::uint32_t> home;  // device of each stage
  for (std::size_t l = 0; l < order.lanes.size(); ++l) {
    const Lane& lane = order.lanes[l];
    if (lane.actions.empty()) continue;
    if (lane.delay != Duration{} || lane.behind != 0)
      cannot(fmt::format("lane {} begins later", lane.name));
    if (!lanes.emplace(lane.device.value, l).second)
      cannot(fmt::format("d{} works on several lanes", lane.device.value));
    for (const Action& a : lane.actions) {
      if (a.phase == Phase::Update || a.weights != 0)
        cannot(fmt::format("{} is of an order that updates weights itself", to_text(a)));
      const auto [entry, is_new] = home.emplace(a.stage.value, lane.device.value);
      if (!is_new && entry->second != lane.device.value)
        cannot(fmt::format("stage {} is on d{} and on d{}", a.stage.value, entry->second,
                           lane.device.value));
    }
  }
  std::vector<std::size_t> list;
  for (const auto& [device, lane] : lanes) {
    if (device != list.size()) cannot(fmt::format("d{} does nothing", list.size()));
    list.push_back(lane);
  }
  return list;
}

// Returns the columns of the actions when each, or each pair, takes one step and its inputs are
// made in an earlier step.
std::vector<std::size_t> columns_of(const ActionIndex& index, int stages) {
  constexpr std::size_t kUnknown = ~std::size_t{0};
  const std::vector<Action>& actions = index.actions();
  std::vector<std::size_t> column(actions.size(), kUnknown);
  std::vector<std::uint32_t> next(index.lines().size(), 0);
  std::size_t placed = 0;
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t l = 0; l < index.lines().size(); ++l)
      while (next[l] < index.lines()[l].count) {
        const std::uint32_t first = index.lines()[l].first + next[l];
        const bool pair = next[l] + 1 < index.lines()[l].count && actions[first + 1].paired;
        const std::uint32_t end = first + (pair ? 2 : 1);
        std::size_t at = next[l] == 0 ? 0 : column[first - 1] + 1;
        bool ready = true;
        for (std::uint32_t i = first; i < end; ++i)
          for (const std::uint32_t other : index.needs(actions[i], stages)) {
            if (other == kNothing) continue;
            ready = ready && column[other] != kUnknown;
            if (ready) at = std::max(at, column[other] + 1);
          }
        if (!ready) break;
        for (std::uint32_t i = first; i < end; ++i) column[i] = at;
        next[l] += end - first, placed += end - first;
        moved = true;
      }
  }
  if (placed < column.size()) cannot("its lanes wait for each other");
  return column;
}

}  // namespace

PipelineCsv parse_pipeline_csv(std::string_view text, const std::string& source) {
  return CsvReader(text, source).run();
}

bool looks_like_pipeline_csv(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text.find(',') != std::string_view::npos &&
         std::string_view(",\"(0123456789").find(text[first]) != std::string_view::npos;
}

std::string pipeline_csv(const Order& order) {
  const std::vector<std::size_t> lanes = lanes_of_ranks(order);
  const ActionIndex index(order);
  std::uint32_t stages = 0;
  for (const Action& a : index.actions()) stages = std::max(stages, a.stage.value + 1);
  const std::vector<std::size_t> column = columns_of(index, static_cast<int>(stages));
  std::string text;
  for (const std::size_t lane : lanes) {
    std::size_t at = 0;
    for (std::uint32_t i = 0; i < index.lines()[lane].count; ++i) {
      const std::uint32_t here = index.lines()[lane].first + i;
      const Action& a = index.actions()[here];
      text.append(column[here] - at, ',');
      at = column[here];
      const std::string action =
          fmt::format("{}{}{}", a.stage.value, letter(a.phase), a.microbatch);
      if (a.paired)
        text += fmt::format(";{}){}", action, kOverlap);
      else
        text += (begins_pair(order.lanes[lane], i) ? "(" : "") + action;
    }
    text += '\n';
  }
  return text;
}

}  // namespace trainyard
