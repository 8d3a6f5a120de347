#include "app/desktop/design/cluster_numbers.h"

#include "app/desktop/controls/text.h"
#include "app/workspace/scenario/workspace.h"
#include "core/cluster/cluster_fields.h"
#include "core/io/documents/cluster_json.h"
#include "core/io/json/inline_document.h"

namespace trainyard {
namespace {

Cluster cluster_of(const Document& document) {
  return open_named(
             {.model = "", .cluster = document.project().cluster, .plan = "", .settings = {}})
      .cluster;
}

}  // namespace

ClusterNumbers::ClusterNumbers(Document& document, QWidget* parent)
    : FieldTable("Numbers of the cluster", parent), document_(document) {
  connect(&document_, &Document::changed, this, &ClusterNumbers::refresh);
  connect(this, &FieldTable::entered, this, &ClusterNumbers::set);
  refresh();
}

void ClusterNumbers::set(const QString& key, const QString& value) {
  try {
    const Cluster changed =
        with_cluster_field(cluster_of(document_), key.toStdString(), value.toStdString());
    document_.set_cluster(q(inline_document(to_json(changed))));
  } catch (const Error& error) {
    say(key, q(describe(error)));
  }
}

void ClusterNumbers::refresh() {
  QList<FieldRow> rows;
  try {
    if (!document_.project().cluster.empty())
      for (const ClusterField& field : cluster_fields(cluster_of(document_))) {
        QStringList words;
        for (const std::string& word : field.words) words << q(word);
        rows << FieldRow{q(field.key), q(field.title), q(field.value), q(field.source),
                         q(field.doc), words,          false,          q(field.group)};
      }
  } catch (const Error&) {
    rows.clear();  // the form reports the error
  }
  show_rows(rows);
}

}  // namespace trainyard
