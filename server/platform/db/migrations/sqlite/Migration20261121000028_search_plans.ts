import { Migration } from '@mikro-orm/migrations'

// Dropped, because SQLite prefers this index to those that provide the sort order. It contains nearly every row, which would all be sorted.
export class Migration20261121000028_search_plans extends Migration {
  override up() {
    this.addSql('drop index `package_search_documents_shown_to`;')
  }
}
