// The journal of a project has a line of JSON for every confirmed edit, so that edits survive a
// crash of the program. Each line holds the whole project (projects are small). Recovery therefore
// needs only the last whole line, and a line cut short by a crash loses no confirmed edit.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "core/io/documents/project.h"

namespace trainyard {

struct JournalEntry {
  std::string file;  // the project's file; empty: it was never saved
  std::string edit;  // description of the edit: "llama-3-8b, plan A   TP 4"
  Project project;   // the project after the edit
  friend bool operator==(const JournalEntry&, const JournalEntry&) = default;
};

/// Returns one line with its line end. Equal entries give equal bytes.
std::string journal_line(const JournalEntry&);

struct JournalEnd {
  JournalEntry last;
  std::size_t entries = 0;
};
/// Returns the last whole and valid entry of a journal's text and the number of entries; nothing
/// where there is none. Never throws: a crash may have damaged the journal, and lines that cannot
/// be read are skipped.
std::optional<JournalEnd> read_journal(std::string_view text);

}  // namespace trainyard
