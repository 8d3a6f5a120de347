// The journal of a project: a line of JSON for every confirmed edit, so that what was edited is
// still there when the program is not. A line holds the whole project (they are small): the last
// whole line is all that recovery needs, and a line cut short by a crash costs nothing that was
// confirmed.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "core/io/documents/project.h"

namespace trainyard {

struct JournalEntry {
  std::string file;  // of the project; empty: it was never saved
  std::string edit;  // what it is about: "llama-3-8b, plan A   TP 4"
  Project project;   // after it
  friend bool operator==(const JournalEntry&, const JournalEntry&) = default;
};

/// One line with its end. Equal entries give equal bytes.
std::string journal_line(const JournalEntry&);

struct JournalEnd {
  JournalEntry last;
  std::size_t entries = 0;
};
/// The last whole and valid entry of a journal's text and how many there are; none where there is
/// none. Never throws: a journal is what a crash left, and lines that cannot be read are passed
/// over.
std::optional<JournalEnd> read_journal(std::string_view text);

}  // namespace trainyard
