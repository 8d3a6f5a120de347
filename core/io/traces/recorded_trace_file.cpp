#include "core/io/traces/recorded_trace_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <limits>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/large_pages.h"
#include "core/base/utf8.h"
#include "core/io/bytes/file_writer.h"
#include "core/io/documents/calibration_json.h"
#include "core/io/documents/recorded_trace_json.h"
#include "core/io/json/json.h"
#include "core/io/json/schema.h"

namespace trainyard {
namespace {

static_assert(std::endian::native == std::endian::little, "the file is as memory is");

constexpr std::string_view kMagic{"TYBIN\r\n\x1a", 8};
constexpr std::size_t kHead = 64, kEntry = 32, kAlign = 64;
// A piece is produced, read and summed at once while it is in the processor's cache; its size is a
// multiple of every entry's size.
constexpr std::size_t kPiece = std::size_t{512} << 10;

enum Part : std::uint32_t {
  AboutPart = 1,
  NamesPart,
  StartsPart,
  EndsPart,
  SpanNamesPart,
  KindsPart,
  SampleTimesPart,
  SampleValuesPart,
  SizesPart,  // absent where the trace states no sizes
};
constexpr std::uint32_t kFewestParts = SampleValuesPart, kMostParts = SizesPart;

struct Section {
  std::uint32_t part = 0, sum = 0;
  std::uint64_t at = 0, size = 0;
  std::uint64_t unused = 0;
};
static_assert(sizeof(Section) == kEntry);

struct Head {
  char magic[8];
  std::uint32_t version, sections;
  std::uint64_t size;
  std::uint32_t sum, unused;
  char rest[32];
};
static_assert(sizeof(Head) == kHead);

[[noreturn]] void refuse_byte(const std::string& source, std::uint64_t at,
                              const std::string& sentence) {
  throw Error(Error::Kind::InvalidInput, sentence, {source + " (byte " + std::to_string(at) + ")"});
}

std::uint32_t sum_of(std::string_view bytes) {
  uLong sum = crc32(0, nullptr, 0);
  for (std::size_t i = 0; i < bytes.size(); i += kPiece) {
    const std::string_view piece = bytes.substr(i, kPiece);
    sum = crc32(sum, reinterpret_cast<const Bytef*>(piece.data()), static_cast<uInt>(piece.size()));
  }
  return static_cast<std::uint32_t>(sum);
}

template <class T>
std::string_view bytes_of(const std::vector<T>& list) {
  return {reinterpret_cast<const char*>(list.data()), list.size() * sizeof(T)};
}

void set_collectives(const RecordedTrace& t, Json& json) {
  Json groups = Json::list(), collectives = Json::list();
  for (const RecordedGroup& group : t.groups) {
    Json one = Json::object(), ranks = Json::list();
    for (const std::int64_t rank : group.ranks) ranks.push(rank);
    one.set("name", group.name).set("size", group.size).set("ranks", std::move(ranks));
    groups.push(std::move(one));
  }
  for (const RecordedCollective& c : t.collectives) {
    Json one = Json::object();
    one.set("process", c.process).set("group", c.group).set("name", c.name);
    if (c.kind) one.set("kind", collective_form().write(*c.kind));
    one.set("bytes", c.bytes.value).set("from", c.from.count()).set("to", c.to.count());
    collectives.push(std::move(one));
  }
  json.set("groups", std::move(groups)).set("collectives", std::move(collectives));
}

// Returns everything that is small, as a document.

Json about(const RecordedTrace& t) {
  Json json = Json::object();
  json.set("schema", schema_name(schema("trainyard/recorded-trace")));
  json.set("device", t.device).set("ranks", t.ranks).set("base", t.base);
  json.set("events", static_cast<std::int64_t>(t.events));
  if (t.epoch) json.set("epoch", *t.epoch);
  if (!t.notes.empty()) {
    Json notes = Json::list();
    for (const std::string& note : t.notes) notes.push(note);
    json.set("notes", std::move(notes));
  }
  if (t.part) {
    Json part = Json::object();
    part.set("from", t.part->from.count()).set("to", t.part->to.count());
    part.set("whole", t.part->whole.count());
    json.set("part", std::move(part));
  }
  Json processes = Json::list(), threads = Json::list(), rows = Json::list();
  for (const RecordedProcess& p : t.processes) {
    Json one = Json::object();
    one.set("name", p.name).set("rank", p.rank);
    processes.push(std::move(one));
  }
  for (const RecordedThread& thread : t.threads) {
    Json one = Json::object();
    one.set("process", thread.process).set("name", thread.name).set("device", thread.device);
    threads.push(std::move(one));
  }
  for (const RecordedRow& row : t.rows) {
    Json one = Json::object();
    one.set("thread", row.thread).set("depth", row.depth).set("count", row.count);
    rows.push(std::move(one));
  }
  json.set("processes", std::move(processes)).set("threads", std::move(threads));
  json.set("rows", std::move(rows));
  Json counters = Json::list(), steps = Json::list(), defects = Json::list();
  for (const RecordedCounter& c : t.counters) {
    Json one = Json::object();
    one.set("process", c.process).set("name", c.name).set("bytes", c.bytes);
    one.set("samples", c.at.size());
    counters.push(std::move(one));
  }
  for (const RecordedStep& s : t.steps) {
    Json one = Json::object();
    one.set("process", s.process).set("number", s.number);
    one.set("from", s.from.count()).set("to", s.to.count());
    steps.push(std::move(one));
  }
  if (!t.collectives.empty()) set_collectives(t, json);
  for (const TraceDefect& d : t.defects) defects.push(trace_defect_fields().write(d));
  json.set("counters", std::move(counters)).set("steps", std::move(steps));
  json.set("defects", std::move(defects));
  return json;
}

template <class T>
T number_in(const JsonCursor& json, std::string_view key) {
  return static_cast<T>(
      json.at(key).integer(static_cast<std::int64_t>(std::numeric_limits<T>::min()),
                           sizeof(T) < 8 ? static_cast<std::int64_t>(std::numeric_limits<T>::max())
                                         : std::numeric_limits<std::int64_t>::max()));
}
std::uint64_t whole_of(const JsonCursor& json, std::string_view key) {
  return static_cast<std::uint64_t>(json.at(key).integer(0));
}

void take_collectives(const JsonCursor& json, RecordedTrace& t) {
  for (const JsonCursor& one : json.at("groups").items()) {
    RecordedGroup group{one.at("name").text(), one.at("size").integer(2), {}};
    for (const JsonCursor& rank : one.at("ranks").items()) group.ranks.push_back(rank.integer(0));
    t.groups.push_back(std::move(group));
  }
  for (const JsonCursor& one : json.at("collectives").items())
    t.collectives.push_back(
        {number_in<std::uint32_t>(one, "process"), number_in<std::uint32_t>(one, "group"),
         number_in<std::uint32_t>(one, "name"),
         one.find("kind") ? std::optional(collective_form().read(one.at("kind"))) : std::nullopt,
         Bytes{one.at("bytes").integer(0)}, Instant{one.at("from").integer()},
         Instant{one.at("to").integer()}});
}

// Returns the number of samples of each counter.
std::vector<std::uint64_t> take_about(const JsonCursor& json, RecordedTrace& t) {
  t.device = json.at("device").text();
  t.ranks = json.at("ranks").integer(0);
  t.base = json.at("base").integer();
  t.events = whole_of(json, "events");
  if (const auto epoch = json.find("epoch")) t.epoch = epoch->integer();
  if (const auto notes = json.find("notes"))
    for (const JsonCursor& note : notes->items()) t.notes.push_back(note.text());
  if (const auto part = json.find("part"))
    t.part = RecordedPart{Instant{part->at("from").integer(0)}, Instant{part->at("to").integer(0)},
                          Instant{part->at("whole").integer(0)}};
  for (const JsonCursor& one : json.at("processes").items())
    t.processes.push_back({one.at("name").text(), number_in<int>(one, "rank")});
  for (const JsonCursor& one : json.at("threads").items())
    t.threads.push_back({number_in<std::uint32_t>(one, "process"), one.at("name").text(),
                         one.at("device").boolean()});
  std::uint64_t first = 0;
  for (const JsonCursor& one : json.at("rows").items()) {
    t.rows.push_back({number_in<std::uint32_t>(one, "thread"),
                      number_in<std::uint32_t>(one, "depth"), first,
                      number_in<std::uint32_t>(one, "count")});
    first += t.rows.back().count;
  }
  std::vector<std::uint64_t> samples;
  for (const JsonCursor& one : json.at("counters").items()) {
    t.counters.push_back({number_in<std::uint32_t>(one, "process"),
                          one.at("name").text(),
                          one.at("bytes").boolean(),
                          {},
                          {}});
    samples.push_back(whole_of(one, "samples"));
  }
  for (const JsonCursor& one : json.at("steps").items())
    t.steps.push_back({number_in<std::uint32_t>(one, "process"), one.at("number").integer(),
                       Instant{one.at("from").integer()}, Instant{one.at("to").integer()}});
  if (json.find("collectives")) take_collectives(json, t);
  for (const JsonCursor& one : json.at("defects").items())
    t.defects.push_back(trace_defect_fields().read(one));
  return samples;
}

std::string names_of(const RecordedTrace& t) {
  std::string bytes;
  for (const std::string& name : t.names) {
    const auto size = static_cast<std::uint32_t>(name.size());
    bytes.append(reinterpret_cast<const char*>(&size), sizeof size);
    bytes += name;
  }
  return bytes;
}

struct Content {
  std::string about, names;
  std::vector<std::int64_t> times;
  std::vector<double> values;
};

Content content_of(const RecordedTrace& t) {
  Content c{write_json_line(about(t)), names_of(t), {}, {}};
  for (const RecordedCounter& counter : t.counters) {
    c.times.insert(c.times.end(), counter.at.begin(), counter.at.end());
    c.values.insert(c.values.end(), counter.value.begin(), counter.value.end());
  }
  return c;
}

// Writes head, table and sections by calls of put(bytes).
template <class Put>
void write_all(const RecordedTrace& t, const Put& put) {
  const Content content = content_of(t);
  std::vector<std::string_view> parts = {
      content.about,    content.names,        bytes_of(t.start),       bytes_of(t.end),
      bytes_of(t.name), bytes_of(t.category), bytes_of(content.times), bytes_of(content.values)};
  if (!t.sizes.empty()) parts.push_back(bytes_of(t.sizes));
  const auto aligned = [](std::uint64_t n) { return (n + kAlign - 1) / kAlign * kAlign; };
  std::vector<Section> table(parts.size());
  std::uint64_t at = aligned(kHead + bytes_of(table).size());
  for (std::uint32_t i = 0; i < parts.size(); ++i) {
    table[i] = {i + 1, sum_of(parts[i]), at, parts[i].size(), 0};
    at = aligned(at + parts[i].size());
  }
  Head head{};
  std::memcpy(head.magic, kMagic.data(), kMagic.size());
  head.version = kRecordedTraceVersion;
  head.sections = static_cast<std::uint32_t>(parts.size());
  head.size = at;
  std::string first(reinterpret_cast<const char*>(&head), sizeof head);
  first.append(bytes_of(table));
  head.sum = sum_of(first);
  std::memcpy(first.data(), &head, sizeof head);
  put(first);
  std::uint64_t done = first.size();
  const std::string zeros(kAlign, '\0');
  const auto pad = [&] {
    put(std::string_view(zeros).substr(0, aligned(done) - done));
    done = aligned(done);
  };
  pad();
  for (const std::string_view part : parts) {
    put(part);
    done += part.size();
    pad();
  }
}

// A Fetch copies [at, at + size) of the file; it throws when it cannot.
using Fetch = std::function<void(std::uint64_t at, std::size_t size, char* to)>;

template <class List>
void take_list(const Fetch& fetch, const Section& section, const std::string& source, List& list,
               const std::stop_token& stop) {
  constexpr std::size_t kEach = sizeof(typename List::value_type);
  if (section.size % kEach != 0)
    refuse_byte(source, section.at,
                "expected whole numbers of " + std::to_string(kEach) + " bytes");
  list.reserve(section.size / kEach);
  ask_for_large_pages(list.data(), section.size);
  uLong sum = crc32(0, nullptr, 0);
  for (std::uint64_t done = 0; done < section.size; done += kPiece) {
    if (stop.stop_requested()) throw Error(Error::Kind::Cancelled, "the import was cancelled");
    const auto size =
        static_cast<std::size_t>(std::min<std::uint64_t>(kPiece, section.size - done));
    list.resize((done + size) / kEach);
    char* const to = reinterpret_cast<char*>(list.data()) + done;
    fetch(section.at + done, size, to);
    sum = crc32(sum, reinterpret_cast<const Bytef*>(to), static_cast<uInt>(size));
  }
  if (sum != section.sum)
    refuse_byte(source, section.at, "expected the check sum of the section, found another");
}

void take_names(std::string_view bytes, const std::string& source, std::uint64_t at,
                std::vector<std::string>& names) {
  while (!bytes.empty()) {
    std::uint32_t size = 0;
    if (bytes.size() >= sizeof size) std::memcpy(&size, bytes.data(), sizeof size);
    if (bytes.size() < sizeof size || bytes.size() - sizeof size < size)
      refuse_byte(source, at, "expected whole names, found one that is cut short");
    const std::string_view name = bytes.substr(sizeof size, size);
    if (!is_utf8(name)) refuse_byte(source, at, "expected names in UTF-8");
    names.emplace_back(name);
    bytes.remove_prefix(sizeof size + size);
  }
}

// Reads and checks the head; `size` is that of the whole file.
std::vector<Section> table_of(const Fetch& fetch, std::uint64_t size, const std::string& source) {
  std::string first(
      static_cast<std::size_t>(std::min<std::uint64_t>(size, kHead + kFewestParts * kEntry)), '\0');
  if (!first.empty()) fetch(0, first.size(), first.data());
  if (!is_recorded_trace(first)) refuse_byte(source, 0, "expected a .tybin file, found another");
  if (first.size() < kHead + kFewestParts * kEntry)
    refuse_byte(source, first.size(), "expected a head and a table, found the end of the file");
  Head head{};
  std::memcpy(&head, first.data(), sizeof head);
  if (head.version != kRecordedTraceVersion)
    refuse_byte(source, 8,
                "expected version " + std::to_string(kRecordedTraceVersion) + ", found " +
                    std::to_string(head.version) + ": written by another Trainyard");
  if (head.sections < kFewestParts || head.sections > kMostParts)
    refuse_byte(source, 12,
                "expected " + std::to_string(kFewestParts) + " or " + std::to_string(kMostParts) +
                    " sections, found " + std::to_string(head.sections));
  if (head.size != size)
    refuse_byte(source, 16,
                "expected " + std::to_string(head.size) + " bytes, found " + std::to_string(size));
  const std::size_t known = first.size();
  first.resize(kHead + head.sections * kEntry);
  if (first.size() > size)
    refuse_byte(source, size, "expected a head and a table, found the end of the file");
  if (first.size() > known) fetch(known, first.size() - known, first.data() + known);
  std::vector<Section> table(head.sections);
  std::memcpy(table.data(), first.data() + kHead, first.size() - kHead);
  const std::uint32_t sum = std::exchange(head.sum, 0);
  std::memcpy(first.data(), &head, sizeof head);
  if (sum_of(first) != sum)
    refuse_byte(source, 24, "expected the check sum of the head, found another");
  for (std::uint32_t i = 0; i < table.size(); ++i)
    if (table[i].part != i + 1 || table[i].at > size || table[i].size > size - table[i].at)
      refuse_byte(source, kHead + i * kEntry, "expected a section within the file");
  return table;
}

void take_samples(const std::vector<std::uint64_t>& samples, const std::vector<std::int64_t>& times,
                  const std::vector<double>& values, std::uint64_t at, RecordedTrace& t) {
  std::uint64_t first = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (times.size() != values.size() || samples[i] > times.size() - first)
      refuse_byte(t.source, at, "expected a time and a value of every sample");
    const auto from = static_cast<std::ptrdiff_t>(first);
    const auto to = static_cast<std::ptrdiff_t>(first + samples[i]);
    t.counters[i].at.assign(times.begin() + from, times.begin() + to);
    t.counters[i].value.assign(values.begin() + from, values.begin() + to);
    first += samples[i];
  }
}

RecordedTrace read_all(const Fetch& fetch, std::uint64_t size, const std::string& source,
                       const std::stop_token& stop) {
  const auto table = table_of(fetch, size, source);
  const auto of = [&](Part p) -> const Section& { return table[p - 1]; };
  RecordedTrace t;
  t.source = source;
  // Half of the bytes are read and summed in parallel to the other half.
  std::exception_ptr trouble;
  std::jthread beside([&] {
    try {
      take_list(fetch, of(EndsPart), source, t.end, stop);
      take_list(fetch, of(KindsPart), source, t.category, stop);
    } catch (...) {
      trouble = std::current_exception();
    }
  });
  std::string text, names;
  take_list(fetch, of(AboutPart), source, text, stop);
  const Json json = read_document(text, "trainyard/recorded-trace", source);
  const std::vector<std::uint64_t> samples = take_about(JsonCursor(json, source), t);
  take_list(fetch, of(NamesPart), source, names, stop);
  take_names(names, source, of(NamesPart).at, t.names);
  take_list(fetch, of(StartsPart), source, t.start, stop);
  take_list(fetch, of(SpanNamesPart), source, t.name, stop);
  if (table.size() >= SizesPart) take_list(fetch, of(SizesPart), source, t.sizes, stop);
  std::vector<std::int64_t> times;
  std::vector<double> values;
  take_list(fetch, of(SampleTimesPart), source, times, stop);
  take_list(fetch, of(SampleValuesPart), source, values, stop);
  take_samples(samples, times, values, of(SampleTimesPart).at, t);
  beside.join();
  if (trouble) std::rethrow_exception(trouble);
  check(t);
  return t;
}

}  // namespace

bool is_recorded_trace(std::string_view bytes) { return bytes.starts_with(kMagic); }

std::string recorded_trace_bytes(const RecordedTrace& trace) {
  std::string bytes;
  write_all(trace, [&](std::string_view part) { bytes += part; });
  return bytes;
}

void write_recorded_trace(const RecordedTrace& trace, const std::string& path) {
  FileWriter file(path, FileWriter::Takes::StreamsToo);
  write_all(trace, [&](std::string_view part) { file.write(part); });
  file.finish();
}

RecordedTrace parse_recorded_trace(std::string_view bytes, const std::string& source,
                                   const std::stop_token& stop) {
  return read_all(
      [&](std::uint64_t at, std::size_t size, char* to) {
        if (size > 0) std::memcpy(to, bytes.data() + at, size);
      },
      bytes.size(), source, stop);
}

RecordedTrace read_recorded_trace(const std::string& path, const std::stop_token& stop) {
  struct Open {
    explicit Open(const std::string& name) : file(::open(name.c_str(), O_RDONLY | O_CLOEXEC)) {}
    ~Open() {
      if (file >= 0) ::close(file);
    }
    Open(const Open&) = delete;
    Open& operator=(const Open&) = delete;
    int file;
  };
  const Open open(path);
  const auto refuse_file = [&](const std::string& sentence) {
    throw Error(Error::Kind::InvalidInput, sentence, {path});
  };
  if (open.file < 0) refuse_file(std::string("expected a file: ") + std::strerror(errno));
  struct stat info{};
  if (::fstat(open.file, &info) != 0 || !S_ISREG(info.st_mode))
    refuse_file("expected an ordinary file");
  const auto fetch = [&](std::uint64_t at, std::size_t size, char* to) {
    while (size > 0) {
      const ssize_t got = ::pread(open.file, to, size, static_cast<off_t>(at));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0)
        throw Error(Error::Kind::Io,
                    got < 0 ? std::string("reading failed: ") + std::strerror(errno)
                            : std::string("the file became shorter while it was read"),
                    {path});
      at += static_cast<std::uint64_t>(got);
      to += got;
      size -= static_cast<std::size_t>(got);
    }
  };
  return read_all(fetch, static_cast<std::uint64_t>(info.st_size), path, stop);
}

}  // namespace trainyard
