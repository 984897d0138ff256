import { Migration } from '@mikro-orm/migrations'

// The first two indexes list the packages of the mirror by last use, without files that are not stored, and count them. The others find the names
// of listed packages, the deletion of a publisher, and the effects of the mirror's policies, for which whole tables were read.
export class Migration20261127000813_list_indexes extends Migration {
  override up() {
    this.addSql('create index `mirror_entries_kept_by_use` on `mirror_entries` (`used_at`, `name`) where `sha256` is not null or `failure` is not null;')
    this.addSql('create index `mirror_entries_kept_by_name` on `mirror_entries` (`name`, `used_at`) where `sha256` is not null or `failure` is not null;')
    this.addSql('create index `packages_listed_name` on `packages` (`name`) where not `is_unlisted`;')
    this.addSql("create index `audit_entries_deleted_publisher` on `audit_entries` (`publisher`, `id`) where `kind` = 'publisher.deleted';")
    this.addSql('create index `mirror_decisions_effects` on `mirror_decisions` (`rule`, `outcome`, `last_at`, `package_name`, `user_id`, `count`);')
  }
}
