// How fast recorded traces open, as one line of JSON a figure: V5, a file of our own with a hundred
// million spans; V6, a gigabyte of Kineto's JSON; and a memory snapshot of two gibibytes. All are
// made up in a folder that is removed again. TRAINYARD_TRACE_SCALE, a share, makes them smaller;
// words (V5, V6, S2) leave out what they do not name. Exits with 1 when a goal is missed.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/base/error.h"
#include "core/io/snapshots/memory_snapshot_import.h"
#include "core/io/traces/chrome_trace_import.h"
#include "core/io/traces/recorded_trace_file.h"
#include "tests/support/kineto_trace.h"
#include "tests/support/snapshot_pickle.h"
#include "visualizers/recorded/recorded_view.h"

namespace trainyard {
namespace {

bool all_met = true;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// at_least: whether the figure is a rate, for which more is better.
void report(const char* id, const std::string& what, std::optional<double> goal, bool at_least,
            double figure, const char* unit) {
  const bool met = !goal || (at_least ? figure >= *goal : figure <= *goal);
  all_met &= met;
  std::printf("{\"id\": \"%s\", \"what\": \"%s\", ", id, what.c_str());
  if (goal) std::printf("\"goal\": %g, ", *goal);
  std::printf("\"figure\": %.3f, \"unit\": \"%s\"", figure, unit);
  if (goal) std::printf(", \"met\": %s", met ? "true" : "false");
  std::printf("}\n");
  std::fflush(stdout);
}

// The most memory that the process has held so far.
double most_held() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024;
}

// The time from the file to a picture of all of it.
double first_paint(RecordedTrace trace) {
  const double begun = now();
  const auto model = recorded_model(std::move(trace));
  Drawing drawing({1600, 900});
  draw_recorded(drawing, {0, 0, 1600, 900}, *model, {});
  return now() - begun;
}

void measure_json(const std::string& folder, double bytes) {
  const std::string path = folder + "/t.json";
  double written = 0;
  {
    std::ofstream file(path, std::ios::binary);
    // A step of 64 layers is some 300 kB.
    const int steps = std::max(1, static_cast<int>(bytes / 300'000));
    write_kineto_trace({.steps = steps, .layers = 64}, [&](std::string_view piece) {
      file.write(piece.data(), static_cast<std::streamsize>(piece.size()));
      written += static_cast<double>(piece.size());
    });
  }
  const double before = most_held();
  double begun = now();
  const RecordedTrace trace = import_chrome_trace(path);
  const double took = now() - begun;
  report("V6", "Kineto JSON of " + std::to_string(static_cast<long long>(written / 1e6)) + " MB",
         100, true, written / 1e6 / took, "MB/s");
  report("V6", "memory while it is read, of the file", 2, false, (most_held() - before) / written,
         "x");
  // Stopped half a second in, at most a tenth until it comes back.
  std::stop_source stop;
  double asked = 0;
  std::jthread stopper([&] {
    std::this_thread::sleep_for(std::chrono::duration<double>(took / 3));
    asked = now();
    stop.request_stop();
  });
  double longest_silence = 0, last = now();
  try {
    import_chrome_trace(path, {stop.get_token(), [&](double) {
                                 longest_silence = std::max(longest_silence, now() - last);
                                 last = now();
                               }});
  } catch (const Error&) {
    report("V6", "from cancel to return", 100, false, 1e3 * (now() - asked), "ms");
  }
  report("V6", "between two words of progress", 100, false, 1e3 * longest_silence, "ms");
  report("V6", "first picture after it is read", 300, false, 1e3 * first_paint(trace), "ms");
}

RecordedTrace spans_of(std::uint64_t count, std::uint32_t rows) {
  RecordedTrace t;
  t.source = "made up";
  t.names = {"gemm", "flash attention", "all-reduce"};
  t.processes = {{"rank 0", 0}};
  const auto each = static_cast<std::uint32_t>(count / rows);
  t.start.reserve(count), t.end.reserve(count), t.name.reserve(count), t.category.reserve(count);
  const Random random(7);
  for (std::uint32_t r = 0; r < rows; ++r) {
    t.threads.push_back({0, "stream " + std::to_string(r), true});
    t.rows.push_back({r, 0, t.start.size(), each});
    std::int64_t at = 0;
    for (std::uint32_t i = 0; i < each; ++i) {
      const std::uint64_t bits = random.bits(std::uint64_t{r} << 32 | i);
      at += static_cast<std::int64_t>(bits % 64);
      const auto length = static_cast<std::int64_t>(1'000 + bits % 9'000);
      t.start.push_back(at);
      t.end.push_back(at + length);
      t.name.push_back(static_cast<std::uint32_t>(bits >> 32) % 3);
      t.category.push_back(static_cast<std::uint8_t>((bits >> 40) % 5));
      at += length;
    }
  }
  return t;
}

void measure_own(const std::string& folder, std::uint64_t spans, std::uint32_t rows) {
  const std::string path = folder + "/t.tybin";
  write_recorded_trace(spans_of(spans, rows), path);
  const double begun = now();
  RecordedTrace trace = read_recorded_trace(path);
  const double took = now() - begun;
  const std::string what = std::to_string(spans / 1'000'000) + " million spans of our own file";
  report("V5", what, 15e6, true, static_cast<double>(spans) / took, "spans/s");
  const double painted = first_paint(std::move(trace));
  // The picture of a screenful; ten million are what a person opens.
  const bool usual = spans <= 10'000'000;
  report("V5", what + ", first picture after open", usual ? std::optional(300.0) : std::nullopt,
         false, 1e3 * (took + painted), "ms");
  std::filesystem::remove(path);
}

void measure_snapshot(const std::string& folder, double bytes) {
  const std::string path = folder + "/s.pickle";
  double written = 0;
  {
    SnapshotMaker maker({.pieces = 8});
    for (std::uint32_t i = 0; static_cast<double>(maker.size()) < bytes; ++i) {
      maker.allocate(i, 0, 64 << 20, Category::Activations);
      if (i >= 400) maker.release(i - 400, 0);
    }
    const std::string pickle = std::move(maker).done();
    written = static_cast<double>(pickle.size());
    std::ofstream(path, std::ios::binary) << pickle;
  }
  const double begun = now();
  const MemorySnapshot snapshot = import_memory_snapshot(path);
  report("S2", "of which reading", {}, false, now() - begun, "s");
  const SnapshotFindings found = snapshot_findings(snapshot, 0);
  const double took = now() - begun;
  report("S2",
         "memory snapshot of " + std::to_string(static_cast<long long>(written / 1e6)) + " MB, " +
             std::to_string(found.wave.wave.samples.size()) + " samples",
         5, false, took, "s");
}

}  // namespace
}  // namespace trainyard

int main(int count, char** words) {
  using namespace trainyard;
  const std::vector<std::string_view> asked(words + 1, words + count);
  const auto asks = [&](std::string_view id) {
    return asked.empty() || std::find(asked.begin(), asked.end(), id) != asked.end();
  };
  const char* given = std::getenv("TRAINYARD_TRACE_SCALE");
  const double scale = given == nullptr ? 1 : std::clamp(std::atof(given), 0.001, 4.0);
  std::string folder = (std::filesystem::temp_directory_path() / "trainyard-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return 2;
  if (asks("V6")) measure_json(folder, scale * 1e9);
  std::filesystem::remove(folder + "/t.json");
  if (asks("V5")) {
    measure_own(folder, static_cast<std::uint64_t>(scale * 1e7), 256);
    measure_own(folder, static_cast<std::uint64_t>(scale * 1e8), 1024);
  }
  if (asks("S2")) measure_snapshot(folder, scale * 2147483648.0);
  std::filesystem::remove_all(folder);
  return all_met ? 0 : 1;
}
