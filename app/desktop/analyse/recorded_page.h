// A recorded trace of somebody's run: read in the background, looked at,
// searched and counted, beside the step that the plan predicts.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "app/desktop/controls/page.h"
#include "app/desktop/session/background.h"
#include "app/desktop/tables/name_tables.h"
#include "app/workspace/scenario/open_trace.h"
#include "core/io/traces/trace_extent.h"
#include "visualizers/drawing/view_state.h"
#include "visualizers/recorded/recorded_model.h"

class QLabel;
class QLineEdit;
class QPushButton;
class QTreeWidget;

namespace trainyard {

class RecordedScene;
class Session;

class RecordedPage : public Page {
  Q_OBJECT

 public:
  explicit RecordedPage(Session&, QWidget* parent = nullptr);
  /// Stops what is being read and reads this. Chrome or Kineto JSON, the CSV of nsys stats, .gz,
  /// .tybin. A large file is looked through first, and a sheet asks which part of it is wanted; on
  /// its Cancel everything is as it was and `put_back` is called.
  void open(const QString& path, std::function<void()> put_back = {});
  /// Files that the ranks of one run wrote, as one recording; a large set asks as a large file
  /// does.
  void open_together(const QStringList& paths);
  /// What is large: bytes of text from which on the sheet asks. Packed text counts eight times.
  void ask_from(qint64 bytes) { ask_from_ = bytes; }
  void cancel();
  const RecordedModel* model() const { return model_.get(); }
  /// The same, for whoever still reads it when another is opened.
  std::shared_ptr<const RecordedModel> shared_model() const { return model_; }
  /// Why the last file could not be opened; empty: it could.
  const QString& error() const { return error_; }

  QList<CanvasWidget*> canvases() const override;
  bool settled() const override { return !background_.running() && !names_.running(); }
  bool whole() const override { return true; }
  std::optional<Drawing> picture() const override;

 private:
  struct Read {
    std::shared_ptr<const RecordedModel> model;
    QString error;
  };
  void begin(const QStringList& paths);
  void look_through(const QStringList& paths);
  void ask_for_range(const TraceFiles&);
  void read(const QStringList& paths, std::function<RecordedTrace(const TraceImportOptions&)> open);
  void take(Read);
  void ask_for_file();
  void refresh();
  void fill_table();
  void fill_stragglers();
  void show_names(const std::vector<NameStatistics>&, const TimeRange&, bool exact);
  void search(const QString& words);
  void walk(bool forwards);

  Session& session_;
  std::shared_ptr<const RecordedModel> model_;
  std::function<void()> put_back_;
  qint64 ask_from_ = 64'000'000;
  QString error_;  // of what was tried last
  CanvasWidget* canvas_;
  RecordedScene* scene_;  // of the canvas
  QLabel *state_, *found_, *range_;
  QLineEdit* search_;
  QPushButton *open_, *cancel_;
  QTreeWidget *table_, *stragglers_;
  QLabel* scope_;
  Background background_;  // ends first, but for the tables
  NameTables names_;
};

}  // namespace trainyard
