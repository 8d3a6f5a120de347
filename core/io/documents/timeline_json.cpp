#include "core/io/documents/timeline_json.h"

#include <charconv>
#include <utility>

#include "core/base/digest.h"
#include "core/io/bytes/decimal_time.h"
#include "core/io/json/quantity.h"
#include "core/io/json/schema.h"

namespace trainyard {
namespace {

constexpr const char* kTimelineSchema = "trainyard/timeline";

Json wave_json(const MemoryWave& wave) {
  Json list = Json::list();
  for (const MemoryWave::Sample& s : wave.samples) {
    Json row = Json::list();
    row.push(s.at.count());
    for (const Bytes bytes : s.bytes) row.push(bytes.value);
    list.push(std::move(row));
  }
  return list;
}

MemoryWave read_wave(const JsonCursor& at) {
  MemoryWave wave;
  for (const JsonCursor& row : at.items()) {
    const std::vector<JsonCursor> cells = row.items();
    if (cells.size() != kCategories + 1)
      row.expected("nanoseconds and the bytes of " + std::to_string(kCategories) + " categories");
    MemoryWave::Sample sample{.at = Instant{cells[0].integer(0, kFarthestTime)}, .bytes = {}};
    for (std::size_t c = 0; c < sample.bytes.size(); ++c)
      sample.bytes[c] = Bytes{cells[c + 1].integer(0, kMostBytes)};
    if (!wave.samples.empty() && sample.at <= wave.samples.back().at)
      cells[0].expected("a later time than that of the sample before");
    if (wave.samples.empty() && sample.at != Instant{}) cells[0].expected("0");
    if (!wave.samples.empty() && total(sample.bytes) > total(wave.samples[wave.peak].bytes))
      wave.peak = wave.samples.size();
    wave.samples.push_back(sample);
  }
  return wave;
}

std::uint64_t read_digest(const JsonCursor& at) {
  const std::string text = at.text();
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc() || end != text.data() + text.size() || text.size() != 16)
    at.expected("16 hexadecimal digits");
  return value;
}

}  // namespace

std::string write_timeline(const TimelineDocument& document) {
  Json spans = Json::list(), waves = Json::list();
  for (const Span& span : document.timeline.spans) {
    Json one = Json::list();
    one.push(span.start.count());
    one.push(span.end.count());
    spans.push(std::move(one));
  }
  for (const MemoryWave& wave : document.waves) waves.push(wave_json(wave));
  Json json = Json::object();
  json.set("schema", schema_name(schema(kTimelineSchema)));
  json.set("clock",
           document.timeline.clock == Timeline::Clock::Measured ? "measured" : "simulated");
  json.set("backend", document.timeline.backend);
  json.set("program", to_hex(document.program));
  json.set("spans", std::move(spans));
  json.set("waves", std::move(waves));
  return write_json(json);
}

TimelineDocument read_timeline(std::string_view text, const std::string& source) {
  const Json json = read_document(text, kTimelineSchema, source);
  const JsonCursor root(json, source);
  root.expect_keys({"schema", "clock", "backend", "program", "spans", "waves"});
  TimelineDocument document;
  document.timeline.clock = root.at("clock").one_of({"measured", "simulated"}) == "measured"
                                ? Timeline::Clock::Measured
                                : Timeline::Clock::Simulated;
  document.timeline.backend = root.at("backend").text();
  document.program = read_digest(root.at("program"));
  for (const JsonCursor& span : root.at("spans").items()) {
    const std::vector<JsonCursor> ends = span.items();
    if (ends.size() != 2) span.expected("start and end in nanoseconds");
    const std::int64_t start = ends[0].integer(0, kFarthestTime);
    document.timeline.spans.push_back(
        {Instant{start}, Instant{ends[1].integer(start, kFarthestTime)}});
  }
  for (const JsonCursor& wave : root.at("waves").items()) document.waves.push_back(read_wave(wave));
  return document;
}

}  // namespace trainyard
