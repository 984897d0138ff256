import { Migration } from '@mikro-orm/migrations'

export class Migration20261121000009_integrity extends Migration {
  override up() {
    this.addSql('create index `package_versions_package_id_archive_bytes_index` on `package_versions` (`package_id`, `archive_bytes`);')
  }
}
