import { Migration } from '@mikro-orm/migrations'

export class Migration20261121000007_publishers extends Migration {
  override up() {
    this.addSql('create table `publisher_claims` (`domain` text not null, `user_id` text not null, `token` text not null, `display_name` text not null, `expires_at` datetime not null, primary key (`domain`, `user_id`), constraint `publisher_claims_user_id_foreign` foreign key (`user_id`) references `users` (`id`) on delete cascade);')
    this.addSql('create index `publisher_claims_user_id_index` on `publisher_claims` (`user_id`);')
    this.addSql('create index `publisher_claims_expires_at_index` on `publisher_claims` (`expires_at`);')
    this.addSql('alter table `audit_entries` add column `publisher` text null;')
    this.addSql('create index `audit_entries_publisher_id_index` on `audit_entries` (`publisher`, `id`);')
  }
}
