// A KernelsPage compares the kernels of the opened recording with the predictions of the open plan,
// and lists what could not be matched on either side. The user can have prices made of the
// recording, which the Machine tab shows for acceptance.
#pragma once

#include <memory>

#include "app/desktop/controls/page.h"
#include "app/desktop/tables/name_tables.h"
#include "visualizers/roofline/residuals_view.h"

class QLabel;
class QPushButton;

namespace trainyard {

class Actions;
class Document;
class MachineMeasurement;
struct RecordedModel;
class RecordedPage;
class ChartScene;
class Session;
class ViewTable;

class KernelsPage : public Page {
  Q_OBJECT

 public:
  /// All must outlive the page.
  KernelsPage(Document&, Session&, RecordedPage&, MachineMeasurement&, QWidget* parent = nullptr);
  void connect_commands(const Actions&);
  /// Makes prices of the recording as a run of the open plan, and shows them. Does nothing without
  /// either.
  void make_prices();
  /// A file of a memory snapshot of the recorded run, which prices are made of too; empty: none.
  void set_snapshot(const QString& path);
  QPushButton* snapshot() const { return snapshot_; }
  /// Null if there is no recording or no plan, or while the recording's kernels are still being
  /// summed.
  const TraceMatch* match() const { return match_.get(); }
  ViewTable& rows() const { return *rows_; }
  ViewTable& unmatched() const { return *unmatched_; }

  QList<CanvasWidget*> canvases() const override { return {canvas_}; }
  bool settled() const override { return !names_.running(); }
  bool whole() const override { return true; }
  bool toggle_rows() override;
  std::optional<Drawing> picture() const override;
  std::optional<DataTable> table() const override;

 protected:
  void showEvent(QShowEvent*) override;

 private:
  void refresh();
  void match_again();
  void match(const RecordedModel&, const std::vector<NameStatistics>&);
  void show_match();
  void ask_for_snapshot();

  Document& document_;
  Session& session_;
  RecordedPage& recorded_;
  MachineMeasurement& measurement_;
  std::unique_ptr<const TraceMatch> match_;
  ResidualsModel model_;
  QString words_;
  CanvasWidget* canvas_;
  ChartScene* scene_;  // owned by the canvas
  ViewTable *rows_, *unmatched_;
  QLabel* state_;
  QPushButton *snapshot_, *prices_;
  QString snapshot_path_;
  NameTables names_;  // declared last, so that it is destroyed first
};

}  // namespace trainyard
