#include "app/cli/verbs/arena.h"
#include "app/cli/verbs/json_schemas.h"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <ostream>

#include "app/cli/text/plans/scenario_words.h"
#include "core/base/error.h"
#include "core/base/units_text.h"
#include "core/io/bytes/file_writer.h"
#include "core/io/bytes/files.h"
#include "core/io/bytes/limits.h"
#include "core/io/documents/arena_csv.h"
#include "core/io/json/fields.h"
#include "core/memory/arena_solver.h"
#include "visualizers/drawing/png.h"
#include "visualizers/drawing/svg.h"
#include "visualizers/imgui/render.h"
#include "visualizers/memory/arena_view.h"

namespace trainyard {
namespace {

const std::int64_t kNodes = ArenaOptions{}.nodes;

struct Answer {
  ArenaCsv csv;
  ArenaOptions options;
  SolvedArena solved;
  double seconds = 0;
};

std::string verdict(const Answer& a) {
  const Bytes reach = a.solved.reach;
  if (!a.options.capacity)
    return a.solved.optimal() ? "no placement reaches less" : "a lower one was not found";
  const Bytes capacity = *a.options.capacity;
  if (a.solved.fits) return "fits: " + readable(capacity - reach) + " left";
  return fmt::format("does not fit: {} too much; {}", readable(reach - capacity),
                     a.solved.lower_bound > capacity
                         ? "no placement does"
                         : "none was found, though none was ruled out either (--nodes N)");
}

std::string text_of(const Answer& a) {
  const SolvedArena& s = a.solved;
  const auto bytes = [](Bytes b) { return fmt::format("{} B ({})", b.value, readable(b)); };
  std::string text = fmt::format("buffers      {}\n", a.csv.lives.size());
  if (a.options.capacity) text += "capacity     " + bytes(*a.options.capacity) + "\n";
  text += "reach        " + bytes(s.reach) + "\n";
  text += "lower bound  " + bytes(s.lower_bound) + "\n";
  text += fmt::format("gap          {:.2f} %{}\n", 100 * s.gap(),
                      s.optimal() ? "; proven: no placement reaches less" : "; not proven");
  text += fmt::format("found by     {}\n", s.found_by);
  text += fmt::format("time         {:.3f} s, {} nodes\n", a.seconds, s.nodes);
  return text + "verdict      " + verdict(a) + "\n";
}

struct PlacedBuffer {
  std::string id;
  Lifetime life;
  Bytes offset;
};

std::vector<PlacedBuffer> placed_buffers(const Answer& a) {
  std::vector<PlacedBuffer> list;
  for (std::size_t i = 0; i < a.csv.lives.size(); ++i)
    list.push_back({a.csv.ids[i], a.csv.lives[i], a.solved.offsets[i]});
  return list;
}

Fields<PlacedBuffer> placed_buffer_fields() {
  const auto life = [](auto member) { return in(&PlacedBuffer::life, member); };
  return {{"id", &PlacedBuffer::id},
          {"from", life(&Lifetime::from), signed_whole()},
          {"to", life(&Lifetime::to), signed_whole(), "exclusive"},
          {"bytes", life(&Lifetime::bytes)},
          {"offset", &PlacedBuffer::offset}};
}

Fields<Answer> arena_fields() {
  const auto option = [](auto member) { return in(&Answer::options, member); };
  const auto solved = [](auto member) { return in(&Answer::solved, member); };
  return document_fields<Answer>(
      "trainyard/arena",
      {{"alignment", option(&ArenaOptions::alignment), whole(1), "bytes, of every offset"},
       {"capacity", option(&ArenaOptions::capacity), "bytes"},
       {"reach", solved(&SolvedArena::reach), "bytes; end of the highest buffer"},
       {"lower_bound", solved(&SolvedArena::lower_bound), "bytes; no placement reaches less"},
       {"gap", solved(&SolvedArena::gap), "reach above the bound, of the bound"},
       {"optimal", solved(&SolvedArena::optimal), "the bound is reached"},
       {"fits", solved(&SolvedArena::fits), "within the capacity, where one is given"},
       {"found_by", solved(&SolvedArena::found_by)},
       {"nodes", solved(&SolvedArena::nodes)},
       {"seconds", &Answer::seconds},
       {"buffers", placed_buffers, list_of(object(placed_buffer_fields()))}});
}

std::string document_of(const Answer& a) { return write_json(arena_fields().write(a)); }

void write_files(const Answer& a, const std::string& name, const Words& words, Streams& streams) {
  const auto write = [&](const std::string& path, const std::string& bytes) {
    write_file(path, bytes);
    if (!words.has("quiet")) streams.err << "wrote " << path << "\n";
  };
  if (words.has("out")) write(words.text("out"), arena_csv(a.csv, a.solved.offsets));
  if (!words.has("svg") && !words.has("png")) return;
  Drawing drawing(kArenaSize);
  draw_arena(drawing, {0, 0, kArenaSize.width, kArenaSize.height},
             arena_model(name, a.csv.ids, a.csv.lives, a.solved, a.options.capacity), {});
  if (words.has("svg")) write(words.text("svg"), to_svg(drawing, Theme::Dark));
  if (words.has("png")) write(words.text("png"), to_png(render(drawing, 2, Theme::Dark)));
}

}  // namespace

Json arena_schema() { return arena_fields().schema(); }

std::vector<Flag> arena_flags() {
  return {{"capacity", "N", "arena: bytes that the placement must fit (default: as few as found)"},
          {"alignment", "N", "arena: bytes of which every offset is a multiple (default 1)"},
          {"nodes", "N", "arena: of the search before it gives up (default 50000)"},
          {"svg", "FILE", "arena: draws the placement there, time across, addresses upwards"},
          {"png", "FILE", "arena: the same as pixels, two a logical one"},
          {"json", "", "arena: one trainyard/arena@1 document"}};
}

int run_arena(const std::string& path, const Words& words, Streams& streams) {
  Answer a;
  a.csv = parse_arena_csv(read_file(path, kLargestConfig), path);
  constexpr std::int64_t kMost = std::int64_t{1} << 62;
  if (words.has("capacity")) a.options.capacity = Bytes{words.integer("capacity", 0, kMost, 0)};
  a.options.alignment = Bytes{words.integer("alignment", 1, 1 << 20, 1)};
  a.options.nodes = words.integer("nodes", 0, 1'000'000'000, kNodes);
  const auto start = std::chrono::steady_clock::now();
  a.solved = solve_arena(a.csv.lives, a.options);
  a.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  write_files(a, std::filesystem::path(path).filename().string(), words, streams);
  streams.out << (words.has("json") ? document_of(a) : text_of(a));
  return a.solved.fits ? kDone : kNotMet;
}

}  // namespace trainyard
