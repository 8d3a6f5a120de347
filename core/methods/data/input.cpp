// A step needs samples, which a node reads from a storage that it shares with others, decodes on
// its cores and copies to its devices. All of that goes on beside the steps before, so that a step
// waits only where one of these stages needs longer than the step:
//
//   storage  | r4     | r5     | r6     |
//   decoding | d3             | d4             |      the slowest stage sets the pace,
//   copy           | c2 |           | c3 |
//   devices          | step 2 | waits | step 3 | waits
//
// In its first epoch a node keeps what it reads: decoded samples in memory until that is full, and
// the others as they are stored on its disk. Nothing is thrown out for another sample, since every
// epoch reads each sample once and no order of them makes one better to keep. From the second epoch
// on, memory saves reading and decoding, and the disk saves the storage. A node keeps to its own
// part of the data set, whose order changes from epoch to epoch (core/result/input_cost.h).
//
// Shi et al., "Towards Scalable Distributed Training of Deep Learning on Public Cloud Clusters",
// MLSys 2021.
#include "core/methods/data/input.h"

#include "core/base/units_text.h"
#include "core/methods/catalogue.h"

namespace trainyard {
namespace {

constexpr std::string_view kFromStorage = "storage", kFromCaches = "cached",
                           kStoredBytes = "sample", kDecodedBytes = "decoded",
                           kDecodingTime = "decoding", kDecodingCores = "cores",
                           kStorageRate = "storage-rate", kDiskRate = "disk-rate",
                           kCacheMemory = "memory", kCacheDisk = "disk", kInputEpoch = "epoch",
                           kFirstEpoch = "first", kLaterEpoch = "later", kDataSamples = "samples";

template <auto parse>
std::string wrong_quantity(std::string_view text) {
  try {
    parse(text, Place{});
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::string wrong_size(std::string_view text) {
  std::string wrong = wrong_quantity<parse_bytes>(text);
  if (!wrong.empty() || parse_bytes(text).value > 0) return wrong;
  return "expected a sample of at least one byte, found " + std::string(text.substr(0, 80));
}

std::string wrong_rate(std::string_view text) {
  std::string wrong = wrong_quantity<parse_bandwidth>(text);
  if (!wrong.empty() || parse_bandwidth(text).value > 0) return wrong;
  return "expected a rate above zero, found " + std::string(text.substr(0, 80));
}

Diagnostics check_input(const Scenario& s, const Params& params) {
  const auto nothing = [](const char* sentence, const char* fix) {
    return Diagnostics{{Diagnostic::Severity::Warning, sentence, {"plan#/choices/input"}, fix}};
  };
  if (params.text(kInputFrom) == kNoInput)
    return nothing(
        "the plan says how samples are read, and with input=none they are at hand: nothing changes",
        "input=cached");
  const std::optional<InputPlan> input = input_of(s.plan);
  if (input->cached && input->memory + input->disk_space == Bytes{})
    return nothing("a cache without a byte of memory or disk keeps nothing: it is as input=storage",
                   "input.memory=64GB");
  return {};
}

}  // namespace

std::optional<InputPlan> input_of(const Plan& plan) {
  const Choice* const chosen = find_choice(plan, kSampleInput);
  if (chosen == nullptr) return std::nullopt;
  const Params params = with_defaults(chosen->params, method(kSampleInput).params);
  const std::string& from = params.text(kInputFrom);
  if (from == kNoInput) return std::nullopt;
  InputPlan made;
  made.cached = from == kFromCaches;
  made.stored = parse_bytes(params.text(kStoredBytes));
  made.decoded = parse_bytes(params.text(kDecodedBytes));
  made.decoding = parse_duration(params.text(kDecodingTime));
  made.cores = params.integer(kDecodingCores);
  made.storage = parse_bandwidth(params.text(kStorageRate));
  made.disk = parse_bandwidth(params.text(kDiskRate));
  made.memory = parse_bytes(params.text(kCacheMemory));
  made.disk_space = parse_bytes(params.text(kCacheDisk));
  made.first_epoch = params.text(kInputEpoch) == kFirstEpoch;
  made.samples = params.integer(kDataSamples);
  return made;
}

Method input() {
  return {
      .name = kSampleInput,
      .axis = MethodAxis::Data,
      .summary = "Reads and decodes samples beside the steps, and keeps decoded ones in a cache.",
      .paper = {"Towards Scalable Distributed Training of Deep Learning on Public Cloud Clusters",
                "Shi et al.", "MLSys", 2021},
      .card = {.gains = "a step is as long as it is with its input; a cache saves reading and "
                        "decoding from the second epoch on",
               .costs = "memory and disk of the nodes; the first epoch is as without a cache",
               .legal_when = "always"},
      .file = "core/methods/data/input.cpp",
      .params =
          {{.name = kInputFrom,
            .fallback = std::string(kNoInput),
            .doc = "where samples come from: they are at hand (none), the shared storage in every "
                   "epoch (storage), or a node's own cache too (cached)",
            .values = {kNoInput, kFromStorage, kFromCaches}},
           {.name = kStoredBytes,
            .fallback = std::string("110kB"),
            .doc = "bytes of a stored sample; 110 kB is about the mean of ImageNet's training "
                   "images (Deng et al. 2009, 2012 challenge)",
            .refusal = wrong_size},
           {.name = kDecodedBytes,
            .fallback = std::string("150528B"),
            .doc = "bytes of a decoded sample as it is cached and copied; by default 224 x 224 "
                   "pixels of three colours, a byte each",
            .refusal = wrong_size},
           {.name = kDecodingTime,
            .fallback = std::string("4ms"),
            .doc = "time of one core to decode a sample and bring it to its size; the default of "
                   "an ImageNet image is assumed",
            .refusal = wrong_quantity<parse_duration>},
           {.name = kDecodingCores,
            .fallback = std::int64_t{24},
            .doc = "cores of a node that decode; the default is assumed: three for each of eight "
                   "devices",
            .low = 1,
            .high = 1e6},
           {.name = kStorageRate,
            .fallback = std::string("1.25GB/s"),
            .doc = "what a node reads from the storage that all share; the default is assumed: a "
                   "port of 10 Gbit/s",
            .refusal = wrong_rate},
           {.name = kDiskRate,
            .fallback = std::string("2GB/s"),
            .doc = "what a node reads from its own disk; the default is assumed: an NVMe drive",
            .refusal = wrong_rate},
           {.name = kCacheMemory,
            .fallback = std::string("64GB"),
            .doc = "memory of a node for decoded samples, with input=cached; the default is "
                   "assumed",
            .refusal = wrong_quantity<parse_bytes>},
           {.name = kCacheDisk,
            .fallback = std::string("1TB"),
            .doc = "disk of a node for stored samples that are not in memory, with input=cached; "
                   "the default is assumed",
            .refusal = wrong_quantity<parse_bytes>},
           {.name = kInputEpoch,
            .fallback = std::string(kLaterEpoch),
            .doc = "which epoch a step is of: the first, in which caches are empty, or a later one",
            .values = {kFirstEpoch, kLaterEpoch}},
           {.name = kDataSamples,
            .fallback = std::int64_t{1'281'167},
            .doc = "samples of the data set; by default the training images of ImageNet "
                   "(Russakovsky et al. 2015)",
            .low = 1,
            .high = 1e15}},
      .check = check_input,
  };
}

}  // namespace trainyard
