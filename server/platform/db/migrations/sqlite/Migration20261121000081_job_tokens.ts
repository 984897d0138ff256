import { Migration } from '@mikro-orm/migrations'

export class Migration20261121000081_job_tokens extends Migration {
  override up() {
    this.addSql('create table `job_tokens` (`id` text not null primary key, `created_at` datetime not null, `hash` text not null, `packages` text not null, `expires_at` datetime not null);')
    this.addSql('create unique index `job_tokens_hash_unique` on `job_tokens` (`hash`);')
    this.addSql('create index `job_tokens_expires_at_index` on `job_tokens` (`expires_at`);')
  }
}
