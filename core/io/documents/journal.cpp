#include "core/io/documents/journal.h"

#include "core/io/json/json.h"

namespace trainyard {
namespace {

std::optional<JournalEntry> entry_of(std::string_view line) {
  try {
    const Json document = parse_json(line, "journal");
    const JsonCursor root(document, "journal");
    return JournalEntry{root.at("file").text(), root.at("edit").text(),
                        parse_project(root.at("project").text(), "journal")};
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

std::string journal_line(const JournalEntry& entry) {
  Json line = Json::object();
  line.set("file", entry.file);
  line.set("edit", entry.edit);
  line.set("project", project_document(entry.project));
  std::string text = write_json_line(line);
  if (text.empty() || text.back() != '\n') text += '\n';
  return text;
}

std::optional<JournalEnd> read_journal(std::string_view text) {
  std::optional<JournalEnd> end;
  // Reading starts at the end: the last valid line is the answer, and the lines before it are only
  // counted.
  std::size_t stop = text.rfind('\n');  // what follows the last line end was cut short
  while (stop != std::string_view::npos) {
    const std::size_t before = stop == 0 ? std::string_view::npos : text.rfind('\n', stop - 1);
    const std::size_t start = before == std::string_view::npos ? 0 : before + 1;
    if (end) {
      end->entries += stop > start ? 1 : 0;
    } else if (auto entry = entry_of(text.substr(start, stop - start))) {
      end = JournalEnd{std::move(*entry), 1};
    }
    stop = before;
  }
  return end;
}

}  // namespace trainyard
