import { Migration } from '@mikro-orm/migrations'

// The index finds the newest version of a package that is not retracted. It replaces an index without the id.
export class Migration20261127000812_newest_versions extends Migration {
  override up() {
    this.addSql('create index `package_versions_package_id_retracted_at_id_index` on `package_versions` (`package_id`, `retracted_at`, `id`);')
    this.addSql('drop index `package_versions_package_id_retracted_at_index`;')
  }
}
