// doctor: reports what this machine offers Trainyard and what it lacks, one line each; or one
// subject, which at present is an arena.
#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <thread>

#include "app/cli/text/plans/scenario_words.h"
#include "app/cli/verbs/arena.h"
#include "backends/backends.h"
#include "core/base/error.h"
#include "core/base/nearest.h"
#include "core/base/units_text.h"
#include "visualizers/imgui/fonts.h"
#include "visualizers/imgui/renderer.h"

namespace trainyard {
namespace {

void row(std::string& out, bool there, std::string_view what, const std::string& words) {
  out += fmt::format("{:<5} {:<10} {}\n", there ? "ok" : "lacks", what, words);
}

void memory(std::string& out) {
  std::ifstream file("/proc/meminfo");
  std::string key, unit;
  std::int64_t amount = 0, all = 0, free = 0;
  while (file >> key >> amount >> unit) {
    if (key == "MemTotal:") all = amount;
    if (key == "MemAvailable:") free = amount;
    if (all > 0 && free > 0) break;
  }
  const auto text = [](std::int64_t kib) { return readable(Bytes{kib * 1024}); };
  row(out, all > 0, "memory",
      all > 0 ? text(all) + ", " + text(free) + " of it free"
              : "this system does not say how much there is");
}

// Only a renderer that starts proves that there is a device.
void vulkan(std::string& out) {
  try {
    row(out, true, "vulkan", vulkan_renderer(true)->why());
  } catch (const RendererFailure& failure) {
    row(out, false, "vulkan", failure.what());
  }
  row(out, true, "renderer", choose_renderer(RendererChoice::Auto)->why());
}

void fonts(std::string& out) {
  const FontFiles files = font_files();
  row(out, !files.regular.empty(), "fonts",
      files.regular.empty()
          ? "neither Inter nor DejaVu Sans; pictures have no text (package fonts-dejavu-core)"
          : files.regular);
}

void display(std::string& out) {
  const auto set = [](const char* name) { return std::getenv(name) && *std::getenv(name); };
  const bool there = set("DISPLAY") || set("WAYLAND_DISPLAY");
  row(out, there, "display",
      there ? "the window can open" : "none; render and simulate --svg draw without one");
}

int run_subject(const Words& words, Streams& streams) {
  const std::vector<std::string> subject = words.texts("");
  if (subject[0] != "arena")
    throw Error(Error::Kind::InvalidInput,
                "expected arena, found \"" + subject[0] + "\"" +
                    did_you_mean(subject[0], std::vector<std::string>{"arena"}),
                {"doctor"});
  if (subject.size() < 2)
    throw Error(Error::Kind::InvalidInput,
                "expected a file of buffers with columns id,lower,upper,size, found nothing",
                {"doctor arena"});
  return run_arena(subject[1], words, streams);
}

int run_doctor(const Words& words, Streams& streams) {
  if (words.has("")) return run_subject(words, streams);
  for (const Flag& flag : arena_flags())
    if (words.has(flag.name))
      throw Error(Error::Kind::InvalidInput, "expected this only after doctor arena FILE",
                  {"--" + std::string(flag.name)});
  std::string out;
  const unsigned cores = std::thread::hardware_concurrency();
  row(out, cores > 0, "cores", fmt::format("{}", cores));
  memory(out);
  vulkan(out);
  fonts(out);
  display(out);
  for (const BackendEntry& entry : backends())
    row(out, true, entry.name, fmt::format("backend: {} It needs {}.", entry.summary, entry.needs));
  deliver(out, words, streams);
  return kDone;
}

}  // namespace

Verb doctor_verb() {
  std::vector<Flag> flags = {
      {"out", "FILE",
       "writes there instead of standard output; arena: the file's rows with their offsets"},
      {"quiet", "", "no diagnostics"}};
  for (const Flag& flag : arena_flags()) flags.push_back(flag);
  return {.name = "doctor",
          .summary = "What this machine offers and lacks; or a placement of buffers in an arena.",
          .positional = "arena FILE",
          .positional_doc =
              "places the buffers of a CSV file (id,lower,upper,size) in one range of addresses; "
              "without it: cores, memory, drivers, fonts, display, backends",
          .positionals = 2,
          .flags = std::move(flags),
          .examples = {"doctor"},
          .run = run_doctor};
}

}  // namespace trainyard
