import { Migration } from '@mikro-orm/migrations'

// Publishers that are already verified are checked in a week.
export class Migration20261121000076_domain_checks extends Migration {
  override up() {
    this.addSql('create table `domain_checks` (`publisher_id` text not null, `token` text null, `checked_at` datetime null, `due_at` datetime not null, `misses` integer not null default 0, `lost_at` datetime null, `problem` text null, primary key (`publisher_id`), constraint `domain_checks_publisher_id_foreign` foreign key (`publisher_id`) references `publishers` (`id`) on update cascade on delete cascade);')
    this.addSql('create index `domain_checks_publisher_id_index` on `domain_checks` (`publisher_id`);')
    this.addSql('create index `domain_checks_due_at_index` on `domain_checks` (`due_at`);')
    this.addSql("insert into `domain_checks` (`publisher_id`, `due_at`) select `id`, (strftime('%s', 'now') + 604800) * 1000 from `publishers` where `is_verified`;")
  }
}
