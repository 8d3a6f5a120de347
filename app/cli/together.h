// The processes of a verb that splits over ranks begin, work and fail together with these.
#pragma once

#include <functional>
#include <string>

#include "app/cli/verb.h"
#include "backends/processes.h"

namespace trainyard {

/// Calls `begin` on every rank. Where one cannot begin, none does: a rank's own exception goes on,
/// and the others throw Error{InvalidInput} that names the rank.
void begin_together(Ranks&, const std::function<void()>& begin);
/// Ranks with different questions would wait for each other's answers forever: throws
/// Error{InvalidInput} that names the verb and the first rank whose question is not rank 0's.
void expect_one_question(Ranks&, const std::string& question, std::string_view verb,
                         std::string_view what);
/// Runs the work of this rank. One that fails alone (out of memory, say) would leave the others
/// waiting for it: it says why and ends all.
void work_together(Processes&, Streams&, const std::function<void()>& work);

}  // namespace trainyard
