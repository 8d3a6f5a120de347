#include "backends/cpu/execution/exchange/message_format.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <utility>

#include "backends/cpu/execution/exchange/reduction.h"
#include "backends/cpu/kernels/convert.h"
#include "core/methods/precision/tensor_formats.h"
#include "core/training/numbers/scaled_numbers.h"

namespace trainyard {
namespace {

using Messages = std::vector<std::vector<std::byte>>;  // by member; empty where it is elsewhere

std::size_t message_bytes(std::int64_t elements, DType type) {
  return static_cast<std::size_t>(elements) * static_cast<std::size_t>(bytes_of(type));
}

// Returns the messages of the members that this process has, rounded.
std::shared_ptr<Messages> rounded_to(DType message, const Company& company,
                                     const std::vector<const std::byte*>& from, DType type,
                                     std::int64_t elements) {
  auto sent = std::make_shared<Messages>(company.members);
  for (std::size_t m = 0; m < company.members; ++m) {
    if (!company.here(m)) continue;
    (*sent)[m].resize(message_bytes(elements, message));
    convert_numbers(from[m], type, (*sent)[m].data(), message, elements);
  }
  return sent;
}

std::vector<const std::byte*> pointers(const Messages& messages) {
  std::vector<const std::byte*> all;
  for (const std::vector<std::byte>& one : messages) all.push_back(one.data());
  return all;
}

void take(const std::byte* sum, DType message, std::byte* to, DType type, std::int64_t elements,
          bool adds) {
  if (!adds) return convert_numbers(sum, message, to, type, elements);
  std::vector<std::byte> converted(message_bytes(elements, type));
  convert_numbers(sum, message, converted.data(), type, elements);
  const void* const part = converted.data();
  add_sum_to(to, {&part, 1}, type, elements);
}

std::size_t gather_bytes(DType message, std::int64_t count) {
  return static_cast<std::size_t>(gather_message_bytes(message, count, 1).value);
}

void encode(DType message, std::span<const float> numbers, std::byte* to) {
  const auto count = static_cast<std::int64_t>(numbers.size());
  if (!has_scales(message)) return from_floats(numbers.data(), to, message, count);
  ScaledNumbers({&message, 1}, 0, count, to).write(0, 0, numbers);
}

void decode(DType message, const std::byte* from, std::span<float> numbers) {
  const auto count = static_cast<std::int64_t>(numbers.size());
  if (!has_scales(message)) return to_floats(from, message, numbers.data(), count);
  ScaledNumbers({&message, 1}, 0, count, const_cast<std::byte*>(from)).read(0, 0, numbers);
}

}  // namespace

void convert_numbers(const std::byte* from, DType from_type, std::byte* to, DType to_type,
                     std::int64_t elements) {
  constexpr std::int64_t kTile = 2048;
  std::array<float, kTile> numbers;
  for (std::int64_t first = 0; first < elements; first += kTile) {
    const std::int64_t n = std::min(kTile, elements - first);
    to_floats(from + message_bytes(first, from_type), from_type, numbers.data(), n);
    from_floats(numbers.data(), to + message_bytes(first, to_type), to_type, n);
  }
}

TravelPtr all_reduce_as(DType message, const Company& company,
                        const std::vector<const std::byte*>& from,
                        const std::vector<std::byte*>& to, DType type, std::int64_t elements,
                        bool adds) {
  if (message == type) return all_reduce(company, from, to, type, elements, adds);
  const auto sent = rounded_to(message, company, from, type, elements);
  std::vector<std::byte*> sums;
  for (std::vector<std::byte>& one : *sent) sums.push_back(one.data());
  return after(all_reduce(company, pointers(*sent), sums, message, elements, false),
               [=]() -> TravelPtr {
                 for (std::size_t m = 0; m < company.members; ++m)
                   if (company.here(m))
                     take((*sent)[m].data(), message, to[m], type, elements, adds);
                 return nullptr;
               });
}

TravelPtr reduce_scatter_as(DType message, const Company& company,
                            const std::vector<const std::byte*>& from,
                            const std::vector<std::byte*>& to, const std::vector<PartRange>& ranges,
                            DType type, bool adds) {
  if (message == type) return reduce_scatter(company, from, to, ranges, type, adds);
  std::int64_t elements = 0;
  for (const PartRange& range : ranges) elements = std::max(elements, range.first + range.count);
  const auto sent = rounded_to(message, company, from, type, elements);
  const auto held = std::make_shared<Messages>(company.members);
  std::vector<std::byte*> sums(company.members, nullptr);
  for (std::size_t m = 0; m < company.members; ++m) {
    if (!company.here(m)) continue;
    (*held)[m].resize(message_bytes(std::max<std::int64_t>(0, ranges[m].count), message));
    sums[m] = (*held)[m].data();
  }
  return after(reduce_scatter(company, pointers(*sent), sums, ranges, message, false),
               [=]() -> TravelPtr {
                 static_cast<void>(sent);  // which is read until all sums are made
                 for (std::size_t m = 0; m < company.members; ++m)
                   if (company.here(m) && ranges[m].count > 0)
                     take((*held)[m].data(), message, to[m], type, ranges[m].count, adds);
                 return nullptr;
               });
}

TravelPtr all_gather_as(DType message, const Company& company,
                        const std::vector<const std::byte*>& from,
                        const std::vector<std::byte*>& to, const std::vector<PartRange>& ranges,
                        DType type) {
  if (message == type) return all_gather(company, from, to, ranges, type);
  const auto sent = std::make_shared<Messages>(company.members);
  std::vector<std::size_t> bytes;
  for (std::size_t m = 0; m < company.members; ++m) {
    const std::int64_t count = std::max<std::int64_t>(0, ranges[m].count);
    bytes.push_back(gather_bytes(message, count));
    if (!company.here(m) || count == 0) continue;
    (*sent)[m].resize(bytes.back());
    std::vector<float> numbers(static_cast<std::size_t>(count));
    to_floats(from[m], type, numbers.data(), count);
    encode(message, numbers, (*sent)[m].data());
  }
  return spread(company, pointers(*sent), bytes,
                [=](std::span<const std::byte* const> messages) -> TravelPtr {
                  static_cast<void>(sent);  // which the messages of this process lie in
                  for (std::size_t part = 0; part < company.members; ++part) {
                    const auto [first, count] = ranges[part];
                    if (count <= 0) continue;
                    std::vector<float> numbers(static_cast<std::size_t>(count));
                    decode(message, messages[part], numbers);
                    for (std::size_t m = 0; m < company.members; ++m)
                      if (company.here(m))
                        from_floats(numbers.data(), to[m] + message_bytes(first, type), type,
                                    count);
                  }
                  return nullptr;
                });
}

}  // namespace trainyard
