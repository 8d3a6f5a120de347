// Sums whose messages are in another format than what is summed: every member rounds what it sends,
// the sum of what is sent is rounded again, and each member converts it to the format of its own
// sums. All members have the same sums however they are divided into messages. Gathers likewise.
#pragma once

#include <vector>

#include "backends/cpu/execution/exchange/collectives.h"

namespace trainyard {

/// Both are as those of collectives.h where the formats are equal.
TravelPtr all_reduce_as(DType message, const Company&, const std::vector<const std::byte*>& from,
                        const std::vector<std::byte*>& to, DType, std::int64_t elements, bool adds);
/// `ranges`: of every member, together at most `elements` of `from`.
TravelPtr reduce_scatter_as(DType message, const Company&,
                            const std::vector<const std::byte*>& from,
                            const std::vector<std::byte*>& to, const std::vector<PartRange>& ranges,
                            DType, bool adds);

/// Gathers as all_gather() does, in messages of another format: every member takes the numbers that
/// a message has for each part, its own included, so that all have the same. A part in a format
/// with scales has its own blocks, counted from its first element.
TravelPtr all_gather_as(DType message, const Company&, const std::vector<const std::byte*>& from,
                        const std::vector<std::byte*>& to, const std::vector<PartRange>& ranges,
                        DType);

/// Converts numbers between F32, BF16 and F16.
void convert_numbers(const std::byte* from, DType from_type, std::byte* to, DType to_type,
                     std::int64_t elements);

}  // namespace trainyard
