// The file has this layout, with all numbers little-endian:
//
//   16 bytes   "trainyard state\n"
//   u32        version
//   u64        length of the head
//   head       program, step, seed (u64 each), scenario, loss scale, losses, then for each part its
//              name, length and digest, then (version 2) for each setting its key and value; a text
//              or list is its length (u64) and its content
//   u64        digest of everything before
//   parts      one after the other, without gaps, to the end
//
// The head comes first and is small, so that a wrong checkpoint is refused before gigabytes are
// read. Each part has a digest of its own, so that a message can name what is damaged.
#include "core/training/checkpoint.h"

#include <fmt/format.h>

#include <bit>
#include <type_traits>

#include "core/base/digest.h"
#include "core/base/error.h"
#include "core/io/bytes/file_writer.h"
#include "core/io/bytes/files.h"
#include "core/plan/batch_ramp.h"

namespace trainyard {
namespace {

constexpr std::string_view kMagic = "trainyard state\n";
constexpr std::uint32_t kVersion = 2, kVersionWithoutSettings = 1;
constexpr Bytes kLargestCheckpoint = 256_GiB;

class Writer {
 public:
  void raw(std::string_view bytes) { out_ += bytes; }
  template <class T>
  void number(T value) {
    for (std::size_t i = 0; i < sizeof(T); ++i)
      out_ += static_cast<char>(static_cast<std::make_unsigned_t<T>>(value) >> (8 * i));
  }
  void real(double value) { number(std::bit_cast<std::uint64_t>(value)); }
  void text(std::string_view value) {
    number(static_cast<std::uint64_t>(value.size()));
    raw(value);
  }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

class Reader {
 public:
  Reader(std::string_view bytes, const std::string& path) : left_(bytes), path_(path) {}

  std::string_view raw(std::uint64_t count) {
    if (count > left_.size())
      refuse(path_, "expected a whole checkpoint, found one that is cut off");
    const std::string_view taken = left_.substr(0, static_cast<std::size_t>(count));
    left_.remove_prefix(taken.size());
    return taken;
  }
  template <class T>
  T number() {
    std::uint64_t value = 0;
    const std::string_view bytes = raw(sizeof(T));
    for (std::size_t i = 0; i < sizeof(T); ++i)
      value |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
    return static_cast<T>(value);
  }
  double real() { return std::bit_cast<double>(number<std::uint64_t>()); }
  std::string text() { return std::string(raw(number<std::uint64_t>())); }
  /// Returns a list's length; each element takes at least `each` bytes.
  std::size_t count(std::size_t each) {
    const auto elements = number<std::uint64_t>();
    if (elements > left_.size() / each)
      refuse(path_, "expected a whole checkpoint, found one that is cut off");
    return static_cast<std::size_t>(elements);
  }
  std::size_t left() const { return left_.size(); }

 private:
  std::string_view left_;
  const std::string& path_;
};

struct PartHead {
  std::uint64_t size, digest;
};

// Reads everything but the parts' content.
std::vector<PartHead> read_head(Reader reader, std::uint32_t version, const std::string& path,
                                Checkpoint& into) {
  into.program = reader.number<std::uint64_t>();
  into.step = reader.number<std::int64_t>();
  if (into.step < 0)
    refuse(path, fmt::format("expected a checkpoint after 0 updates or more, found one after {}",
                             into.step));
  into.seed = reader.number<std::uint64_t>();
  into.scenario = reader.text();
  into.scaler.scale = reader.real();
  into.scaler.since = reader.number<std::int64_t>();
  into.scaler.skipped = reader.number<std::int64_t>();
  into.scaler.hysteresis = reader.number<std::int32_t>();
  into.losses.resize(reader.count(sizeof(double)));
  for (double& loss : into.losses) loss = reader.real();
  std::vector<PartHead> heads(reader.count(3 * sizeof(std::uint64_t)));
  for (PartHead& head : heads) {
    into.parts.push_back({reader.text(), {}});
    head = {reader.number<std::uint64_t>(), 0};
    head.digest = reader.number<std::uint64_t>();
  }
  if (version != kVersionWithoutSettings) {
    into.settings.resize(reader.count(2 * sizeof(std::uint64_t)));
    if (into.settings.empty()) refuse(path, "expected settings of training, found none");
    for (auto& [key, value] : into.settings) key = reader.text(), value = reader.text();
  }
  if (reader.left() > 0)
    refuse(path, fmt::format("expected the end of a checkpoint's head, found {} more bytes",
                             reader.left()));
  return heads;
}

}  // namespace

std::string to_bytes(const Checkpoint& c) {
  Writer head;
  head.number(c.program), head.number(c.step), head.number(c.seed);
  head.text(c.scenario);
  head.real(c.scaler.scale);
  head.number(c.scaler.since), head.number(c.scaler.skipped);
  head.number(static_cast<std::int32_t>(c.scaler.hysteresis));
  head.number(static_cast<std::uint64_t>(c.losses.size()));
  for (double loss : c.losses) head.real(loss);
  head.number(static_cast<std::uint64_t>(c.parts.size()));
  for (const CheckpointPart& part : c.parts) {
    head.text(part.name);
    head.number(static_cast<std::uint64_t>(part.content.size()));
    head.number(digest(part.content));
  }
  if (!c.settings.empty()) head.number(static_cast<std::uint64_t>(c.settings.size()));
  for (const CheckpointSetting& setting : c.settings)
    head.text(setting.key), head.text(setting.value);
  Writer file;
  file.raw(kMagic);
  file.number(c.settings.empty() ? kVersionWithoutSettings : kVersion);
  file.text(head.take());
  std::string bytes = file.take();
  Writer seal;
  seal.number(digest(bytes));
  bytes += seal.take();
  for (const CheckpointPart& part : c.parts) bytes += part.content;
  return bytes;
}

Checkpoint parse_checkpoint(std::string_view bytes, const std::string& path) {
  Reader reader(bytes, path);
  if (bytes.substr(0, kMagic.size()) != kMagic)
    refuse(path, bytes.empty() ? "expected a checkpoint, found an empty file"
                               : "expected a checkpoint, found a file of another kind");
  reader.raw(kMagic.size());
  const auto version = reader.number<std::uint32_t>();
  if (version != kVersion && version != kVersionWithoutSettings)
    refuse(path, fmt::format("expected a checkpoint of version {} or {}, found version {}",
                             kVersionWithoutSettings, kVersion, version));
  const std::string_view head = reader.raw(reader.number<std::uint64_t>());
  const std::string_view sealed = bytes.substr(0, bytes.size() - reader.left());
  if (reader.number<std::uint64_t>() != digest(sealed))
    refuse(path, "expected a whole checkpoint, found one whose head is damaged");
  Checkpoint found;
  const std::vector<PartHead> heads = read_head(Reader(head, path), version, path, found);
  for (std::size_t i = 0; i < heads.size(); ++i) {
    CheckpointPart& part = found.parts[i];
    const std::string_view content = reader.raw(heads[i].size);
    if (digest(content) != heads[i].digest)
      refuse(path, fmt::format("expected a whole checkpoint, found one whose part \"{}\" is "
                               "damaged",
                               part.name));
    part.content = content;
  }
  if (reader.left() > 0)
    refuse(path,
           fmt::format("expected the end of a checkpoint, found {} more bytes", reader.left()));
  return found;
}

void save(const Checkpoint& checkpoint, const std::string& path) {
  write_file_atomically(path, to_bytes(checkpoint));
}

Checkpoint load_checkpoint(const std::string& path) {
  return parse_checkpoint(read_file(path, kLargestCheckpoint), path);
}

std::vector<CheckpointSetting> checkpoint_settings(const Training& training,
                                                   const DataSource& data) {
  const bool endless =
      training.schedule == RateSchedule::Constant || training.schedule == RateSchedule::InverseRoot;
  std::vector<CheckpointSetting> all = {{"data", data.content()}};
  for (const TrainingKey& key : training_keys())
    if (key.key != "steps" || !endless) all.push_back({std::string(key.key), key.read(training)});
  return all;
}

void expect_same_training(const Checkpoint& checkpoint,
                          const std::vector<CheckpointSetting>& settings, std::int64_t steps,
                          const std::string& path) {
  std::string expected, found, flags;
  const auto is_of_plan = [](const std::string& key) {
    return key == kBatchRamp || key.starts_with("halp.") || key.ends_with("-dtype");
  };
  for (const CheckpointSetting& now : settings)
    for (const CheckpointSetting& then : checkpoint.settings) {
      if (then.key != now.key || then.value == now.value) continue;
      expected += fmt::format(" {}={}", now.key, now.value);
      found += fmt::format(" {}={}", then.key, then.value);
      flags += then.key == "data"
                   ? " the same --data"
                   : fmt::format(" --{} {}={}", is_of_plan(then.key) ? "set" : "train", then.key,
                                 then.value);
    }
  if (!expected.empty())
    refuse(path, fmt::format("expected a checkpoint trained with{}, found one with{}; it goes on "
                             "with{}",
                             expected, found, flags));
  if (checkpoint.step > steps)
    refuse(path, fmt::format(
                     "expected a checkpoint after at most {} updates, found one after {}; --steps "
                     "says how many there are in all",
                     steps, checkpoint.step));
}

void expect_same(const Checkpoint& checkpoint, std::uint64_t program, std::string_view scenario,
                 const std::string& path) {
  if (checkpoint.program == program) return;
  refuse(path,
         fmt::format("expected a checkpoint of {}, found one of {}", scenario,
                     checkpoint.scenario == scenario ? "the same plan lowered to another program"
                                                     : checkpoint.scenario));
}

}  // namespace trainyard
