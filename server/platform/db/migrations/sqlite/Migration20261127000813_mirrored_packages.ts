import { Migration } from '@mikro-orm/migrations'

// The indexes list the packages of the mirror by last use, without the archives that are not stored, and count them.
export class Migration20261127000813_mirrored_packages extends Migration {
  override up() {
    this.addSql('create index `mirror_entries_kept_by_use` on `mirror_entries` (`used_at`, `name`) where `sha256` is not null or `failure` is not null;')
    this.addSql('create index `mirror_entries_kept_by_name` on `mirror_entries` (`name`, `used_at`) where `sha256` is not null or `failure` is not null;')
  }
}
