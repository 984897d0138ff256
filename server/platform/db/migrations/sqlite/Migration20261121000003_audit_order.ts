import { Migration } from '@mikro-orm/migrations'

export class Migration20261121000003_audit_order extends Migration {
  override up() {
    this.addSql('drop index `audit_entries_kind_index`;')
    this.addSql('create index `audit_entries_kind_id_index` on `audit_entries` (`kind`, `id`);')
    this.addSql('drop index `audit_entries_actor_id_index`;')
    this.addSql('create index `audit_entries_actor_id_id_index` on `audit_entries` (`actor_id`, `id`);')
    this.addSql('drop index `audit_entries_user_id_index`;')
    this.addSql('create index `audit_entries_user_id_id_index` on `audit_entries` (`user_id`, `id`);')
    this.addSql('drop index `audit_entries_package_index`;')
    this.addSql('create index `audit_entries_package_id_index` on `audit_entries` (`package`, `id`);')
  }
}
