#include "app/desktop/controls/run_list.h"

#include <QFileInfo>

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "app/desktop/session/training_session.h"
#include "core/base/error.h"

namespace trainyard {

void RunList::use(std::string path) {
  path_ = std::move(path);
  error_.clear();
  Q_EMIT changed();
}

std::vector<RunEntry> RunList::entries(std::string_view words) {
  error_.clear();
  if (path_.empty() || !QFileInfo::exists(QString::fromStdString(path_))) return {};
  try {
    return RunStore(path_).list(words);
  } catch (const Error& error) {
    error_ = describe(error);
    return {};
  }
}

RecordedRun RunList::get(std::int64_t id) const { return RunStore(path_).get(id); }

template <class F>
void RunList::change(F with_store) {
  if (path_.empty()) return;
  error_.clear();
  try {
    RunStore store(path_);
    with_store(store);
  } catch (const Error& error) {
    error_ = describe(error);
  }
  Q_EMIT changed();
}

void RunList::record(std::shared_ptr<const TrainingReport> report, RunWords words, Heard heard) {
  if (path_.empty()) return heard({});
  struct Kept {
    std::optional<std::int64_t> id;
    std::string error;
  };
  work_.ask(
      [path = path_, report = std::move(report), words = std::move(words),
       started = utc_text(std::chrono::system_clock::now())](const std::stop_token&,
                                                             const auto&) -> Kept {
        try {
          return {RunStore(path).add(record_of(*report, words, started)), {}};
        } catch (const Error& error) {
          return {{}, describe(error)};
        } catch (const std::exception& error) {
          return {{}, error.what()};
        }
      },
      [this, heard = std::move(heard)](const Kept& kept) {
        error_ = kept.error;
        Q_EMIT changed();
        heard(kept.id);
      });
}

void RunList::set_note(std::int64_t id, const std::string& note) {
  change([&](RunStore& store) { store.set_note(id, note); });
}

void RunList::add_tag(std::int64_t id, const std::string& tag) {
  change([&](RunStore& store) { store.add_tag(id, tag); });
}

void RunList::set_tags(std::int64_t id, const std::vector<std::string>& tags) {
  change([&](RunStore& store) {
    const std::vector<std::string> before = store.get(id).entry.tags;
    for (const std::string& tag : tags) store.add_tag(id, tag);
    for (const std::string& tag : before)
      if (std::find(tags.begin(), tags.end(), tag) == tags.end()) store.remove_tag(id, tag);
  });
}

void RunList::remove(std::int64_t id) {
  change([&](RunStore& store) { store.remove(id); });
}

}  // namespace trainyard
