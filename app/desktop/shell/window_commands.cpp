// Implements the commands of the window.
#include <QAction>
#include <QApplication>
#include <QDockWidget>
#include <QFileDialog>
#include <QFileInfo>
#include <QInputDialog>
#include <QLabel>
#include <QMessageBox>
#include <QPushButton>
#include <QSettings>
#include <QTreeWidget>

#include "app/desktop/analyse/analyse_page.h"
#include "app/desktop/analyse/links_page.h"
#include "app/desktop/analyse/order_page.h"
#include "app/desktop/analyse/recorded_page.h"
#include "app/desktop/analyse/snapshot_page.h"
#include "app/desktop/calibrate/machine_page.h"
#include "app/desktop/controls/canvas_widget.h"
#include "app/desktop/controls/complaint.h"
#include "app/desktop/controls/theme.h"
#include "app/desktop/design/design_page.h"
#include "app/desktop/design/model_panel.h"
#include "app/desktop/design/tables_sheet.h"
#include "app/desktop/dialogs/import_sheet.h"
#include "app/desktop/dialogs/model_dialog.h"
#include "app/desktop/dialogs/palette_dialog.h"
#include "app/desktop/dialogs/report_sheet.h"
#include "app/desktop/dialogs/run_dialog.h"
#include "app/desktop/planner/planner_page.h"
#include "app/desktop/session/file_kind.h"
#include "app/desktop/session/first_plan.h"
#include "app/desktop/shell/model_commands.h"
#include "app/desktop/shell/palette_settings.h"
#include "app/desktop/shell/perspective.h"
#include "app/desktop/shell/shortcut_sheet.h"
#include "app/desktop/shell/window.h"
#include "app/workspace/scenario/exchange.h"
#include "app/workspace/scenario/priced_scenario.h"
#include "app/workspace/scenario/published.h"
#include "app/workspace/scenario/scenario_page.h"
#include "app/workspace/scenario/setting_words.h"
#include "app/workspace/scenario/workspace.h"
#include "core/cost/physical.h"
#include "core/exporters/trace_event.h"
#include "core/io/bytes/file_writer.h"
#include "core/io/bytes/files.h"
#include "core/io/documents/benchmark_report_json.h"
#include "core/io/json/inline_document.h"
#include "core/model/zoo/zoo.h"
#include "visualizers/drawing/png.h"
#include "visualizers/drawing/svg.h"
#include "visualizers/imgui/render.h"

namespace trainyard {
namespace {

constexpr const char* kProjectFilter = "Trainyard project (*.trainyard)";
constexpr const char* kAnyFilter =
    "Projects, models, clusters, plans (*.trainyard *.json *.safetensors *.gguf *.onnx);;"
    "Recordings (*.json *.csv *.gz *.tybin *.pickle *.pkl *.txt *.log);;All files (*)";
constexpr const char* kDefaultCluster = "h100-sxm:64";

// Opens the project with placeholders for what is not chosen yet; throws if the file has an error.
void try_open(Project project) {
  if (project.model.empty()) project.model = std::string(zoo().front().name);
  if (project.cluster.empty()) project.cluster = kDefaultCluster;
  const std::string plan =
      project.plans.empty() ? "" : project.plans[static_cast<std::size_t>(project.current)].file;
  open(Request{project.model, project.cluster, plan, {}});
}

}  // namespace

void Window::connect_commands() {
  const auto on = [this](const char* id, auto run) {
    connect(actions_[id], &QAction::triggered, this, run);
  };
  on("file.new", [this] {
    if (!may_discard()) return;
    drop_result();
    document_.clear();
  });
  on("file.open", [this] { open_dialog(); });
  on("file.save", [this] { save(false); });
  on("file.save-as", [this] { save(true); });
  on("file.quit", [this] { close(); });
  on("model.choose", [this] { choose_model(); });
  on("model.add", [this] {
    if (document_.project().model.empty()) return choose_model();
    document_.show_perspective("design");
    for (Page* shown : pages_)
      if (auto* design = qobject_cast<DesignPage*>(shown)) design->model_panel().ask_what_to_add();
  });
  on("edit.undo", [this] { document_.undo_stack().undo(); });
  on("edit.redo", [this] { document_.undo_stack().redo(); });
  for (const Perspective& perspective : perspectives()) {
    const QString id = perspective.id;
    connect(actions_["view." + id], &QAction::triggered, this,
            [this, id] { document_.show_perspective(id); });
    for (const QString tab : perspective.tabs)
      connect(actions_["view." + tab], &QAction::triggered, this, [this, tab] { show_tab(tab); });
  }
  on("view.reset", [this] {
    docks_.clear();
    lay_out();
  });
  on("view.dark",
     [this] { set_theme(actions_["view.dark"]->isChecked() ? Theme::Dark : Theme::Light); });
  on("view.gpu", [this] {
    for (CanvasWidget* canvas : canvases())
      if (canvas->isVisible()) canvas->try_gpu_again();
  });
  on("view.left", [this](bool show) { project_dock_->setVisible(show); });
  on("view.bottom", [this](bool show) { bottom_dock_->setVisible(show); });
  on("view.right", [this](bool show) {
    strategy_dock_->setVisible(show);
    const Perspective* now =
        find_perspective(QString::fromStdString(document_.project().perspective));
    inspector_dock_->setVisible(show && now != nullptr && now->docks.inspector > 0);
  });
  connect(project_dock_, &QDockWidget::visibilityChanged, actions_["view.left"],
          &QAction::setChecked);
  connect(strategy_dock_, &QDockWidget::visibilityChanged, actions_["view.right"],
          &QAction::setChecked);
  connect(bottom_dock_, &QDockWidget::visibilityChanged, actions_["view.bottom"],
          &QAction::setChecked);
  on("plan.duplicate", [this] { document_.duplicate_plan(); });
  on("plan.rename", [this] { rename_plan(); });
  on("plan.remove", [this] { document_.remove_plan(); });
  on("plan.fix", [this] { apply_words(best_change()); });
  on("plan.search", [this] {
    show_tab("plans");
    planner().start();
  });
  on("plan.search-stop", [this] { planner().stop(); });
  on("plan.open-found", [this] { planner().open_chosen(); });
  on("plan.why", [this] {
    show_tab("plans");
    planner().ask_own();
  });
  on("simulate.run", [this] { simulate(); });
  on("simulate.stop", [this] { simulation_.stop(); });
  on("simulate.auto", [this](bool on_now) { document_.set_automatic(on_now); });
  on("run.start", [this] { train(); });
  on("run.stop", [this] { training_.stop(); });
  on("view.table", [this](bool shown) {
    if (page() != nullptr && page() != analyse_ && page()->toggle_rows())
      return actions_["view.table"]->setChecked(!shown);  // the command belongs to Analyse
    document_.show_perspective("analyse");
    analyse_->show_rows(shown);
  });
  connect(analyse_, &AnalysePage::rows_shown, actions_["view.table"], &QAction::setChecked);
  on("run.pause", [this](bool pause) { pause ? training_.pause() : training_.resume(); });
  on("export.view", [this] { export_view(); });
  on("export.trace", [this] {
    save_answer("Export trace", "trace.json", "Trace events (*.json)",
                [this] { return trace_event(*session_.experiment()); });
  });
  on("export.report", [this] {
    save_answer("Export report", "report.html", "Page for a browser (*.html)", [this] {
      return to_html(scenario_page(*session_.data(), usual_page_views()), current_theme());
    });
  });
  on("export.pytorch-csv", [this] { export_as("pytorch-csv"); });
  on("export.megatron-layout", [this] { export_as("megatron-layout"); });
  on("file.import", [this] { import_pipeline(); });
  on("model.tables", [this] {
    const ProjectPlan* plan = document_.plan();
    if (plan == nullptr || document_.project().model.empty()) return;
    auto* sheet = new TablesSheet(request_of(document_.project(), *plan), this);
    connect(sheet, &TablesSheet::apply, this, [this](const QString& set) { apply_words(set); });
    sheet->open();
  });
  on("file.check-report", [this] { check_report_dialog(); });
  on("plan.own-order", [this] { analyse_->order().editor().back(); });
  for (Page* shown : pages_)
    if (auto* design = qobject_cast<DesignPage*>(shown)) connect_model_commands(actions_, *design);
  on("help.commands",
     [this] { PaletteDialog(this, palette_settings(document_, session_)).exec(); });
  on("help.keys", [this] { show_keys(); });
  on("help.about", [this] { show_about(); });
  connect_exploration();
  actions_["view.dark"]->setChecked(current_theme() == Theme::Dark);
}

void Window::train(const QString& training) {
  const ProjectPlan* plan = document_.plan();
  if (plan == nullptr || document_.project().model.empty() || training_.running()) return;
  const Request request = request_of(document_.project(), *plan);
  try {
    Scenario scenario = open_priced(request).scenario;
    throw_if_errors(check(scenario));
    scenario.plan = complete(scenario);
    RunDialog dialog(request, scenario, this, training);
    if (dialog.exec() != QDialog::Accepted) return;
    const TrainingWish wish = dialog.wish();
    show_tab("run");
    training_.start(wish);
    analyse_->current()->setFocus();
  } catch (const Error& error) {
    complain(this, "This plan cannot be run here", QString::fromStdString(describe(error)));
  }
}

void Window::open_dialog() {
  const QString path = QFileDialog::getOpenFileName(this, "Open", {}, kAnyFilter);
  if (!path.isEmpty()) open_file(path);
}

void Window::open_file(const QString& path) {
  const std::string file = QFileInfo(path).absoluteFilePath().toStdString();
  try {
    Project project = document_.project();
    switch (file_kind(file)) {
      case FileKind::Pipeline:
        import_file(QString::fromStdString(file));
        return;
      case FileKind::Project:
        if (!may_discard()) return;
        session_.clear();
        document_.load(QString::fromStdString(file));
        tell_newer();
        break;
      case FileKind::Model:
        project.model = file;
        try_open(project);
        if (project.cluster.empty()) project.cluster = kDefaultCluster;
        start_with({.model = file, .cluster = project.cluster, .plan = "", .settings = {}});
        report_import(file);
        break;
      case FileKind::Cluster:
        project.cluster = file;
        try_open(project);
        document_.set_cluster(QString::fromStdString(file));
        break;
      case FileKind::Plan:
        project.plans = {{"", file, {}}};
        project.current = 0;
        try_open(project);
        document_.use_plan_file(QString::fromStdString(file));
        break;
      case FileKind::Trace:
        show_tab("recorded");
        findChild<RecordedPage*>()->open(
            QString::fromStdString(file),
            [this, perspective = QString::fromStdString(project.perspective),
             tab = QString::fromStdString(project.tab)] {
              document_.show_perspective(perspective, tab);
            });
        break;
      case FileKind::Snapshot:
        show_tab("snapshot");
        findChild<SnapshotPage*>()->open(QString::fromStdString(file));
        break;
      case FileKind::Calibration:
        show_tab("machine");
        findChild<MachinePage*>()->open(QString::fromStdString(file));
        break;
      case FileKind::Report:
        check_report_file(QString::fromStdString(file));
        return;
      case FileKind::NcclTests:
        show_tab("links");
        findChild<LinksPage*>()->open(QString::fromStdString(file));
        break;
    }
    remember_file(QString::fromStdString(file));
  } catch (const Error& error) {
    complain(this, "This file cannot be opened", QString::fromStdString(describe(error)));
  }
}

void Window::check_report_dialog() {
  const QString path = QFileDialog::getOpenFileName(this, "Check a benchmark report", {},
                                                    "Benchmark reports (*.json);;All files (*)");
  if (path.isEmpty()) return;
  try {
    check_report_file(path);
  } catch (const Error& error) {
    complain(this, "This report cannot be checked", QString::fromStdString(describe(error)));
  }
}

void Window::check_report_file(const QString& path) {
  const std::string file = path.toStdString();
  (new ReportSheet(check_report(read_benchmark_report(read_file(file), file)), path, this))->open();
}

void Window::open_files(const QStringList& paths) {
  const auto is_trace = [](const QString& path) {
    try {
      return file_kind(path.toStdString()) == FileKind::Trace;
    } catch (const Error&) {
      return false;  // open_file() reports the error
    }
  };
  QStringList traces;
  if (paths.size() > 1)
    for (const QString& path : paths)
      if (is_trace(path)) traces << QFileInfo(path).absoluteFilePath();
  const bool together = traces.size() > 1;
  for (const QString& path : paths)
    if (!together || !traces.contains(QFileInfo(path).absoluteFilePath())) open_file(path);
  if (!together) return;
  show_tab("recorded");
  findChild<RecordedPage*>()->open_together(traces);
  for (const QString& path : traces) remember_file(path);
}

// Cancel undoes the opening, unless something was changed since.
void Window::report_import(const std::string& file) {
  const ImportedModel imported = load_model_with_report(file);
  if (imported.report.fields == 0) return;
  auto* sheet = new ImportSheet(imported, QString::fromStdString(file), this);
  connect(sheet, &QDialog::rejected, this, [this, made = document_.undo_stack().index()] {
    if (document_.undo_stack().index() == made) document_.undo_stack().undo();
  });
  sheet->open();
}

// A newer project is shown as far as it is understood, and never overwritten.
void Window::tell_newer() {
  if (!document_.read_only()) return;
  QStringList names;
  for (const std::string& place : document_.unknown()) names << QString::fromStdString(place);
  complain(this, "A newer Trainyard wrote this project",
           QString("It is open to be read; save it under another name to change it. %1")
               .arg(names.isEmpty() ? QString("All of it is understood.")
                                    : "Not understood, but kept: " + names.join(", ") + "."));
}

// A new model is built on in Design; a published one is looked at.
void Window::choose_model() {
  ModelDialog dialog(this);
  if (dialog.exec() != QDialog::Accepted) return;
  const bool build = dialog.is_new();
  start_with({.model = dialog.chosen().toStdString(),
              .cluster = document_.project().cluster,
              .plan = "",
              .settings = {}});
  if (build) document_.show_perspective("design");
}

void Window::start_with(const Request& request) {
  Project project = document_.project();
  project.model = request.model;
  project.cluster = request.cluster.empty() ? kDefaultCluster : request.cluster;
  std::vector<std::string> settings = request.settings;
  if (request.plan.empty() && settings.empty())
    settings = first_plan(project.model, project.cluster);
  project = with_first_plans_following(document_.project(), std::move(project));
  // A plan that the user has worked on stays; a new model adds a plan only if there is none.
  if (project.plans.empty() || !request.plan.empty() || !request.settings.empty()) {
    project.plans.push_back({project.plans.empty() ? "A" : "B", request.plan, settings});
    project.current = static_cast<int>(project.plans.size()) - 1;
  }
  document_.change("Open " + QString::fromStdString(word_title(request.model)), std::move(project));
}

void Window::open_published(const QString& id) {
  const std::string word = published_word(id.toStdString());
  start_with({.model = word, .cluster = word, .plan = word, .settings = {}});
  document_.show_perspective("analyse");
}

bool Window::save(bool ask) {
  QString path = document_.path();
  if (ask || path.isEmpty() || document_.read_only())
    path = QFileDialog::getSaveFileName(this, "Save project", path, kProjectFilter);
  if (path.isEmpty()) return false;
  if (QFileInfo(path).suffix().isEmpty()) path += ".trainyard";
  try {
    document_.save(path);
    return true;
  } catch (const Error& error) {
    complain(this, "The project was not saved", QString::fromStdString(describe(error)));
    return false;
  }
}

bool Window::may_discard() {
  if (!document_.modified()) return true;
  QMessageBox box(QMessageBox::Question, "Trainyard",
                  "Save the changes to " + document_.title() + "?",
                  QMessageBox::Save | QMessageBox::Discard | QMessageBox::Cancel, this);
  const int answer = box.exec();
  return answer == QMessageBox::Discard || (answer == QMessageBox::Save && save(false));
}

void Window::rename_plan() {
  if (document_.plan() == nullptr) return;
  bool agreed = false;
  const QString name =
      QInputDialog::getText(this, "Rename plan", "Name", QLineEdit::Normal,
                            QString::fromStdString(document_.plan()->name), &agreed);
  if (agreed) document_.rename_plan(name);
}

void Window::apply_words(const QString& assignments) {
  document_.apply("Apply " + assignments, assignments.split(' ', Qt::SkipEmptyParts));
}

void Window::export_view() {
  const std::optional<Drawing> drawing = page() == nullptr ? std::nullopt : page()->picture();
  if (!drawing) return;
  const std::optional<std::string> document = page()->document();
  const QString path = QFileDialog::getSaveFileName(
      this, "Export view", "view.png",
      QString("PNG (*.png);;SVG (*.svg);;CSV (*.csv)") + (document ? ";;JSON (*.json)" : ""));
  if (path.isEmpty()) return;
  const auto bytes = [&] {
    if (path.endsWith(".csv")) {
      const std::optional<DataTable> table = page()->table();
      if (!table)
        throw Error(Error::Kind::Unsupported, "this view has no rows; PNG and SVG have its picture",
                    {path.toStdString()});
      return to_csv(*table);
    }
    if (path.endsWith(".json")) {
      if (!document)
        throw Error(Error::Kind::Unsupported,
                    "this view has no document; PNG and SVG have its picture, CSV its rows",
                    {path.toStdString()});
      return *document;
    }
    return path.endsWith(".svg") ? to_svg(*drawing, current_theme())
                                 : to_png(trainyard::render(*drawing, 2, current_theme()));
  };
  try {
    write_file_atomically(path.toStdString(), bytes());
  } catch (const Error& error) {
    complain(this, "The view was not exported", QString::fromStdString(describe(error)));
  }
}

void Window::save_answer(const QString& title, const QString& file, const QString& filter,
                         const std::function<std::string()>& bytes) {
  if (!session_.experiment()) return;
  const QString path = QFileDialog::getSaveFileName(this, title, file, filter);
  if (path.isEmpty()) return;
  try {
    write_file_atomically(path.toStdString(), bytes());
  } catch (const Error& error) {
    complain(this, "Nothing was exported", QString::fromStdString(describe(error)));
  }
}

void Window::export_as(const char* name) {
  if (!session_.experiment() || !gate_lets_out()) return;
  const ExportFormat& format = export_format(name);
  const auto words = [](std::string_view text) {
    return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
  };
  try {
    const std::string text = format.write(session_.experiment()->workload).text;
    const QString path = QFileDialog::getSaveFileName(
        this, "Export " + words(format.title), "pipeline." + words(format.ending),
        QString("%1 (*.%2)").arg(words(format.title), words(format.ending)));
    if (!path.isEmpty()) write_file_atomically(path.toStdString(), text);
  } catch (const Error& error) {
    complain(this, "Nothing was exported", QString::fromStdString(describe(error)));
  }
}

void Window::import_pipeline() {
  const QString path = QFileDialog::getOpenFileName(
      this, "Import pipeline", {}, "PyTorch CSV, Megatron layout (*.csv *.txt);;All files (*)");
  if (!path.isEmpty()) import_file(path);
}

void Window::import_file(const QString& path) {
  const std::string file = path.toStdString();
  try {
    Project project = document_.project();
    if (project.model.empty())
      throw Error(Error::Kind::InvalidInput, "a pipeline needs a model and a cluster first",
                  {file});
    const ProjectPlan* plan = document_.plan();
    const Scenario into =
        trainyard::open({project.model, project.cluster, plan == nullptr ? "" : plan->file,
                         plan == nullptr ? std::vector<std::string>{} : plan->settings});
    const Import found = import_text(read_file(file), file, into);
    Scenario after = into;
    QStringList settings;
    for (const std::string& setting : found.settings) {
      trainyard::apply_words(after.plan, setting);
      settings << QString::fromStdString(setting);
    }
    throw_if_errors(check(after));
    document_.apply("Import " + QString::fromStdString(found.what), settings);
  } catch (const Error& error) {
    complain(this, "This file cannot be imported", QString::fromStdString(describe(error)));
  }
}

void Window::show_keys() { ShortcutSheet(actions_, this).exec(); }

void Window::show_about() {
  QString drawn = "nothing yet";
  for (const CanvasWidget* canvas : canvases())
    if (!canvas->why().isEmpty()) drawn = canvas->why();
  QStringList left_out;
  for (const std::string& sentence :
       physical_cost_model(SettledSoftware{&framework("")})->leaves_out())
    left_out << QString::fromStdString(sentence);
  QMessageBox(QMessageBox::NoIcon, "About Trainyard",
              "<h3>Trainyard</h3>A workbench in which people design the training of a neural "
              "network before they pay for it."
              "<p>Drawn by: " +
                  drawn.toHtmlEscaped() + "<p>Every time comes from a model that leaves out: " +
                  left_out.join("; ").toHtmlEscaped() + ".",
              QMessageBox::Close, this)
      .exec();
}

void Window::set_theme(Theme theme) {
  QSettings().setValue("theme", theme == Theme::Dark ? "dark" : "light");
  apply_theme(*static_cast<QApplication*>(QApplication::instance()), theme);
  Q_EMIT session_.experiment_changed();  // rows contain colours of the theme
  Q_EMIT document_.view_changed();
}

}  // namespace trainyard
