import { Migration } from '@mikro-orm/migrations'

export class Migration20261121000070_rendered_texts extends Migration {
  override up() {
    this.addSql('create table `rendered_texts` (`hash` text not null primary key, `html` text null, `bytes` integer not null, `created_at` datetime not null);')
    this.addSql('create index `rendered_texts_created_at_index` on `rendered_texts` (`created_at`);')
  }
}
